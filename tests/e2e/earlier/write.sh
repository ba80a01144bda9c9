#!/bin/sh
# Write project-89c1923c.tar.xz: `sh write.sh RAILWEAVE INTENT` with the command and the intent lab-4.yml of that revision.
# The project has provisioned its simulated switches, changed the shares of two classes, and saved a plan for more.
set -e
railweave=$1
intent=$2
work=$(mktemp -d)
archive=$(cd "$(dirname "$0")" && pwd)/project-89c1923c.tar.xz
cd "$work"
"$railweave" init first --template minimal
cd first
sed 's/^fabric: .*/fabric: first/' "$intent" > intent/fabric.yml
"$railweave" sim up
"$railweave" deploy --yes --provision
cat >> intent/fabric.yml <<'CLASSES'
traffic_classes:
  - {name: roce, role: rdma, dscp: [26], lossless: true, priority: 3, share: 80}
  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 20}
CLASSES
"$railweave" deploy --yes
cp intent/fabric.yml deployed.yml
sed -i 's/share: 80/share: 70/; s/share: 20/share: 30/' intent/fabric.yml
"$railweave" plan --out plan.json
mv deployed.yml intent/fabric.yml
# The simulator makes keys, addresses and its specification anew; `sim down` removes what it kept.
tar --sort=name --owner=0 --group=0 -cJf "$archive" intent/fabric.yml inventory/sim.yml plan.json \
  .railweave/audit.jsonl .railweave/journal .railweave/sim/first/fabric.json .railweave/sim/first/devices
"$railweave" sim down
rm -r "$work"
