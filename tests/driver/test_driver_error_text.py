"""What a switch says is passed on; how its programs crashed is not."""

from napalm_sonic.codec import error_text


def test_a_traceback_of_the_switch_is_cut_to_its_exception() -> None:
    text = (
        "Running command: /usr/local/bin/sonic-cfggen -j /tmp/x --write-to-db\n"
        "Traceback (most recent call last):\n"
        '  File "/usr/local/bin/sonic-cfggen", line 501, in <module>\n'
        "    main()\n"
        "  ...\n"
        "redis.exceptions.ConnectionError: Error 111 connecting to 127.0.0.1:6379. Connection refused.\n"
    )
    said = error_text(text)
    assert "Traceback" not in said
    assert "sonic-cfggen, line" not in said
    assert said.endswith(
        "redis.exceptions.ConnectionError: Error 111 connecting to 127.0.0.1:6379. Connection refused."
    )


def test_the_first_error_is_told_without_what_commands_always_print() -> None:
    text = (
        "libyang[0]: Not satisfied. (path: /sonic-port:sonic-port/PORT)\n"
        "Aborted!\n"
        "Acquired lock on /etc/sonic/reload.lock\n"
        "/tmp/step.json fails YANG validation! Error: Data Loading Failed\n"
        "Not satisfied.\n"
        "Released lock on /etc/sonic/reload.lock\n"
    )
    assert error_text(text) == "/tmp/step.json fails YANG validation! Error: Data Loading Failed / Not satisfied."


def test_nothing_printed_is_told_so() -> None:
    assert error_text("") == "it said nothing"
