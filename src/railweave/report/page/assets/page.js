"use strict";
(async () => {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (one) => one.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const data = JSON.parse(await new Response(stream).text());
  const { devices, cables, panels, pictures, marks } = data;
  const numberOf = new Map(devices.name.map((name, number) => [name, number]));
  const stage = document.getElementById("stage");
  const panel = document.getElementById("panel");
  const part = document.getElementById("part");
  const NODE = -1;
  const MOST_ROWS = 512;
  let shown = "fabric";

  // Cables of every device, found once when the first device is opened.
  let ownCables = null;
  const cablesOf = (device) => {
    if (!ownCables) {
      ownCables = devices.name.map(() => []);
      cables.lower.forEach((lower, cable) => {
        ownCables[lower].push(cable);
        ownCables[cables.upper[cable]].push(cable);
      });
    }
    return ownCables[device];
  };

  const element = (name, attributes = {}, ...content) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...content);
    return made;
  };
  const link = (text, opens) => element("a", { href: `#${opens}` }, text);
  const portOf = (device, port) => panels[devices.panel[device]][port];
  const kindOf = (device) => (devices.level[device] === NODE ? "node" : data.tiers[devices.level[device]]);

  const show = (key) => {
    if (!(key in pictures)) return false;
    if (shown !== key) {
      stage.innerHTML = pictures[key].svg;
      shown = key;
      if (part) part.value = key;
      applyFilters();
    }
    return true;
  };

  // The picture that has the device as something of its own: the one that is shown if it can be, else the closest.
  const pictureOf = (device) => {
    const places = [shown, `stripe-${devices.stripe[device]}`, `pod-${devices.pod[device]}`, "fabric"].filter((key) => key in pictures);
    const own = `href="#device-${devices.name[device]}"`;
    return places.find((key) => pictures[key].svg.includes(own)) || places.find((key) => blockOf(key, device) !== null) || "fabric";
  };
  const inRuns = (runs, device) => runs.some(([first, last]) => first <= device && device <= last);
  const blockOf = (key, device) => {
    const found = Object.entries(pictures[key].blocks).find(([, runs]) => inRuns(runs, device));
    return found ? found[0] : null;
  };

  const choose = (test) => {
    for (const one of stage.querySelectorAll("a")) {
      const opens = one.getAttribute("href").slice(1);
      one.classList.toggle("chosen", test(opens));
    }
  };

  const open = (title, ...content) => {
    const close = element("button", { type: "button", class: "close", "aria-label": "Close" }, "×");
    close.addEventListener("click", () => { location.hash = shown; });
    panel.replaceChildren(close, element("h3", {}, title), ...content);
    panel.hidden = false;
    panel.scrollTop = 0;
  };
  const closePanel = () => {
    panel.hidden = true;
    choose(() => false);
  };

  const list = (pairs) => {
    const made = element("dl", { class: "facts" });
    for (const [name, value] of pairs) {
      if (value !== null && value !== undefined && value !== "") {
        made.append(element("div", {}, element("dt", {}, name), element("dd", {}, `${value}`)));
      }
    }
    return made;
  };

  const table = (caption, columns, rows) => {
    const body = element("tbody");
    for (const row of rows.slice(0, MOST_ROWS)) body.append(element("tr", {}, ...row.map((one) => element("td", {}, one))));
    const head = element("thead", {}, element("tr", {}, ...columns.map((one) => element("th", { scope: "col" }, one))));
    const made = element("table", {}, element("caption", {}, caption), head, body);
    const rest = rows.length - MOST_ROWS;
    return rest > 0 ? element("div", {}, made, element("p", { class: "dim" }, `and ${rest} more`)) : made;
  };

  const end = (device, port) => {
    const [name, alias] = portOf(device, port);
    return `${name}${alias && alias !== name ? ` (${alias})` : ""}`;
  };
  const count = (number, noun) => (number === 1 ? `1 ${noun}` : `${number.toLocaleString("en")} ${noun}s`);

  const openDevice = (device) => {
    show(pictureOf(device));
    const name = devices.name[device];
    const block = blockOf(shown, device);
    choose((opens) => {
      if (opens === `device-${name}`) return true;
      const [upper, lower] = opens.startsWith("cables=") ? opens.slice(7).split("~") : [];
      return upper !== undefined && (upper === block || lower === block) && pictures[shown].blocks[block][0][0] === device
        && pictures[shown].blocks[block].length === 1 && pictures[shown].blocks[block][0][1] === device;
    });
    const own = cablesOf(device).slice();
    const portAt = (cable) => (cables.lower[cable] === device ? cables.lowerPort[cable] : cables.upperPort[cable]);
    own.sort((one, other) => portAt(one) - portAt(other));
    const rows = own.map((cable) => {
      const isLower = cables.lower[cable] === device;
      const far = isLower ? cables.upper[cable] : cables.lower[cable];
      const farPort = isLower ? cables.upperPort[cable] : cables.lowerPort[cable];
      return [
        link(end(device, portAt(cable)), `cable-${cable}`),
        element("span", {}, link(devices.name[far], `device-${devices.name[far]}`), ` ${end(far, farPort)}`),
        `${cables.speed[cable]}G`,
        `${cables.length[cable]} m ${cables.media[cables.medium[cable]]}`,
      ];
    });
    const said = (marks[device] || []).map(([kind, text]) => {
      const tone = { failed: "bad", unreachable: "bad", removed: "bad", drifted: "warning", disturbed: "warning", changed: "warning" }[kind] || "good";
      return element("p", { class: tone }, text);
    });
    const ports = panels[devices.panel[device]];
    const used = new Map(own.map((cable) => [portAt(cable), cables.lower[cable] === device ? "up" : "down"]));
    const front = element("div", { class: "front", role: "img", "aria-label": `${used.size} of ${ports.length} ports are cabled` });
    ports.forEach(([port, alias], index) => {
      front.append(element("i", { class: used.get(index) || "free", title: `${port} ${alias}${used.has(index) ? "" : " (free)"}` }));
    });
    const uses = ["down", "up", "free"].map((use) => [use, ports.filter((_, index) => (used.get(index) || "free") === use).length]);
    const legend = element("p", { class: "ports" }, ...uses.filter(([, number]) => number)
      .map(([use, number]) => element("span", {}, element("i", { class: use }), `${number} ${use}`)));
    const facts = list([
      ["is a", kindOf(device)], ["model", devices.model[device]], ["pod", devices.pod[device]], ["stripe", devices.stripe[device]],
      ["rail", devices.rail[device]], ["plane", devices.plane[device]], ["AS number", devices.asn[device]], ["loopback", devices.loopback[device]],
      ["ports in use", `${used.size} of ${ports.length}`],
    ]);
    open(name, ...said, facts, ...(devices.level[device] === NODE ? [] : [front, legend]),
      table(count(own.length, "cable"), ["port", "to", "speed", "cable"], rows));
  };

  const cableRow = (cable) => [
    link(`${cable + 1}`, `cable-${cable}`),
    element("span", {}, link(devices.name[cables.lower[cable]], `device-${devices.name[cables.lower[cable]]}`), ` ${end(cables.lower[cable], cables.lowerPort[cable])}`),
    element("span", {}, link(devices.name[cables.upper[cable]], `device-${devices.name[cables.upper[cable]]}`), ` ${end(cables.upper[cable], cables.upperPort[cable])}`),
    `${cables.speed[cable]}G`,
    `${cables.length[cable]} m ${cables.media[cables.medium[cable]]}`,
  ];

  const openCables = (upper, lower) => {
    const blocks = pictures[shown].blocks;
    if (!blocks[upper] || !blocks[lower]) return;
    choose((opens) => opens === `cables=${upper}~${lower}`);
    const found = [];
    cables.lower.forEach((one, cable) => {
      if (inRuns(blocks[lower], one) && inRuns(blocks[upper], cables.upper[cable])) found.push(cable);
    });
    open(count(found.length, "cable"), table("Rows of cables.csv, the end nearer to the GPUs first", ["", "a end", "b end", "speed", "cable"], found.map(cableRow)));
  };

  const openCable = (cable) => {
    const [lower, upper] = [cables.lower[cable], cables.upper[cable]];
    if (lower === undefined) return;
    show(pictureOf(lower));
    const ends = `cables=${blockOf(shown, upper)}~${blockOf(shown, lower)}`;
    choose((opens) => opens === ends);
    open(`Cable ${cable + 1}`, list([
      ["a end", `${devices.name[lower]} ${end(lower, cables.lowerPort[cable])}`],
      ["b end", `${devices.name[upper]} ${end(upper, cables.upperPort[cable])}`],
      ["speed", `${cables.speed[cable]}G`], ["length", `${cables.length[cable]} m`], ["medium", cables.media[cables.medium[cable]]],
      ["plane", cables.plane[cable]], ["rail", cables.rail[cable]],
    ]), element("p", {}, link(devices.name[lower], `device-${devices.name[lower]}`), " — ", link(devices.name[upper], `device-${devices.name[upper]}`)));
  };

  const route = () => {
    const hash = decodeURIComponent(location.hash.slice(1));
    if (hash.startsWith("device-") && numberOf.has(hash.slice(7))) openDevice(numberOf.get(hash.slice(7)));
    else if (hash.startsWith("cables=")) openCables(...hash.slice(7).split("~"));
    else if (/^cable-\d+$/.test(hash)) openCable(Number(hash.slice(6)));
    else if (show(hash)) closePanel();
    else return;
    document.getElementById("topology").scrollIntoView({ block: "nearest" });
  };

  const applyFilters = () => {
    const chosen = (name) => {
      const boxes = [...document.querySelectorAll(`input[name="${name}"]`)];
      return boxes.length ? new Set(boxes.filter((box) => box.checked).map((box) => box.value)) : null;
    };
    const [rails, planes] = [chosen("rail"), chosen("plane")];
    const hidden = (own, wanted) => own !== null && wanted !== null && !own.split(" ").some((one) => wanted.has(one));
    for (const one of stage.querySelectorAll("[data-rails], [data-planes]")) {
      one.classList.toggle("out", hidden(one.getAttribute("data-rails"), rails) || hidden(one.getAttribute("data-planes"), planes));
    }
  };

  const tools = document.getElementById("tools");
  tools.hidden = false;
  tools.addEventListener("submit", (event) => event.preventDefault());
  tools.addEventListener("change", (event) => {
    if (event.target === part) location.hash = part.value;
    else if (event.target.id === "find") find(event.target);
    else applyFilters();
  });
  const find = (box) => {
    const wanted = box.value.trim();
    const exact = numberOf.has(wanted) ? wanted : devices.name.find((name) => name.endsWith(`-${wanted}`));
    box.setCustomValidity(exact || !wanted ? "" : `No device is named ${wanted}`);
    box.reportValidity();
    if (exact) location.hash = `device-${exact}`;
  };
  const names = document.getElementById("names");
  document.getElementById("find").addEventListener("input", (event) => {
    const typed = event.target.value.trim().toLowerCase();
    event.target.setCustomValidity("");
    const found = typed ? devices.name.filter((name) => name.toLowerCase().includes(typed)).slice(0, 20) : [];
    names.replaceChildren(...found.map((name) => element("option", { value: name })));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !panel.hidden) location.hash = shown;
  });

  const theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
  });
  // Paper is white, and browsers print no backgrounds: dark's letters would be light on it.
  let onScreen;
  addEventListener("beforeprint", () => {
    onScreen = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
  });
  addEventListener("afterprint", () => {
    if (onScreen) document.documentElement.dataset.theme = onScreen;
    else delete document.documentElement.dataset.theme;
  });

  addEventListener("hashchange", route);
  document.documentElement.dataset.ready = "yes";
  route();
})();
