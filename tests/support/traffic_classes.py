"""Traffic classes as intents may state them."""

from hypothesis import strategies as st

from railweave.fabric.policy import ClassRole, TrafficClass, Transport


@st.composite
def class_sets(draw: st.DrawFn, *, always_notified: bool = True) -> tuple[TrafficClass, ...]:
    """RDMA with PFC or without, perhaps storage, notifications and the rest, each on priorities and code points of its
    own."""
    priorities = draw(st.permutations([1, 2, 3, 4, 5]))
    points = draw(st.permutations([8, 10, 18, 24, 26, 34]))
    storage = draw(st.sampled_from(["none", "lossless", "lossy"]))
    transport = draw(st.sampled_from([None, Transport.ROCE_LOSSLESS, Transport.ROCE_LOSSY]))
    classes = [
        TrafficClass(
            "roce",
            ClassRole.RDMA,
            tuple(points[: draw(st.integers(1, 2))]),
            False,
            transport is not Transport.ROCE_LOSSY,
            priorities[0],
            False,
            50,
            transport=transport,
        ),
        TrafficClass("cnp", ClassRole.CNP, (draw(st.sampled_from([46, 48])),), False, False, 6, True, 0),
        TrafficClass("rest", ClassRole.BULK, (), True, False, 0, False, 10),
    ]
    if not always_notified and draw(st.booleans()):
        del classes[1]
    if storage != "none":
        lossless = storage == "lossless"
        classes.append(TrafficClass("disk", ClassRole.STORAGE, (points[2],), False, lossless, priorities[1], False, 30))
    return tuple(classes)
