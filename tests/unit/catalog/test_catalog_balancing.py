"""What chips and releases have to spread load: stated with a source, or missing with the reason."""

from railweave.catalog.balancing import balancing_methods, balancing_of
from railweave.catalog.load import load_catalog
from railweave.fabric.releases import RELEASES


def test_every_chip_has_a_release_or_a_reason_for_every_method() -> None:
    catalog = load_catalog()
    for name in catalog.switch_ids():
        found = balancing_of(catalog.switch(name).asic)
        assert [each.method for each in found] == list(balancing_methods())
        for each in found:
            assert each.source
            assert bool(each.missing) == (each.release is None)
            assert each.release is None or each.release in RELEASES


def test_only_spectrum_4_and_5_trim_and_no_chip_has_flowlets_or_spraying() -> None:
    catalog = load_catalog()
    trimming = set()
    for name in catalog.switch_ids():
        asic = catalog.switch(name).asic
        releases = {each.method: each.release for each in balancing_of(asic)}
        assert (releases["flowlet"], releases["packet"]) == (None, None)
        if releases["trimming"]:
            trimming.add(str(asic))
    assert trimming == {"NVIDIA Spectrum-4", "NVIDIA Spectrum-5"}
