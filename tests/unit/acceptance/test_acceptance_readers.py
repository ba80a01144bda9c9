"""Outputs of test tools: a value, or which of the other answers, and never a number that nobody measured."""

import json

import pytest
import tool_outputs as tools

from railweave.acceptance.readers.registry import FORMATS, read_tool_output
from railweave.acceptance.readings import Answer, ToolReading


def read(text: str) -> ToolReading:
    return read_tool_output(text.encode())


def test_every_format_has_an_output_here() -> None:
    assert sorted(tools.ALL) == sorted(FORMATS)


@pytest.mark.parametrize("kind", tools.ALL)
def test_the_format_is_found_by_content(kind: str) -> None:
    reading = read(tools.ALL[kind])
    assert (reading.format, reading.answer) == (kind, Answer.OK)


@pytest.mark.parametrize("kind", tools.ALL)
def test_carriage_returns_and_a_byte_order_mark_change_nothing(kind: str) -> None:
    text = tools.ALL[kind]
    assert read_tool_output(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()) == read(text)


class TestPerftest:
    def test_units_follow_from_the_header_and_the_message_rate(self) -> None:
        for header, scale in ((tools.BANDWIDTH_HEADER, 1.0), (tools.MIB_HEADER, 0.008388608)):
            average = 391.34 / scale
            reading = read(tools.perftest(tools.bandwidth_row(65536, average, scale), header=header))
            assert reading.values["avg_Gbps"] == pytest.approx(391.34, abs=0.01)
        # A header that lies: the rate decides.
        reading = read(tools.perftest(tools.bandwidth_row(65536, 391.34), header=tools.MIB_HEADER))
        assert reading.values["avg_Gbps"] == 391.34

    def test_the_peak_is_beside_the_average_and_settings_are_read(self) -> None:
        values = read(tools.PERFTEST).values
        assert values["peak_Gbps"] == 391.73
        assert (values["qps"], values["mtu"], values["link"], values["device"]) == (4, 4096, "Ethernet", "mlx5_0")
        assert (values["tos"], values["dscp"], values["ecn"]) == (106, 26, "ECT(0)")

    def test_sizes_have_values_of_their_own(self) -> None:
        rows = tools.bandwidth_row(2, 0.041) + tools.bandwidth_row(65536, 390.71)
        values = read(tools.perftest(rows)).values
        assert values["avg_Gbps_at_65536"] == 390.71
        assert "avg_Gbps" not in values
        cut = read(tools.perftest(rows, end=""))
        assert cut.answer is Answer.INCOMPLETE

    def test_both_directions_are_halved_and_those_of_each_side_stay_apart(self) -> None:
        both = tools.bandwidth_row(65536, 779.66) + tools.DASHES + "\n\n Local results: \n" + tools.DASHES + "\n"
        both += tools.BANDWIDTH_HEADER + tools.bandwidth_row(65536, 390.0) + tools.DASHES + "\n\n Remote results: \n"
        both += tools.DASHES + "\n" + tools.BANDWIDTH_HEADER + tools.bandwidth_row(65536, 389.66)
        reading = read(tools.perftest(both, title="RDMA_Write Bidirectional BW"))
        assert reading.answer is Answer.OK
        assert reading.values["avg_Gbps_per_direction"] == 389.83
        assert (reading.values["avg_Gbps_local"], reading.values["avg_Gbps_remote"]) == (390.0, 389.66)
        assert "avg_Gbps" not in reading.values

    @pytest.mark.parametrize(
        ("end", "answer"),
        [
            (tools.DASHES + "\n", Answer.NOT_MEASURED),
            ("", Answer.INCOMPLETE),
            (
                " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\nscnt=1, ccnt=0\n",
                Answer.ERROR,
            ),
            (" Failed status 5: qp_num 77 wr_id 0 syndrom 0xf9\n", Answer.ERROR),
            (" Failed status-transport retry counter exceeded (12): wr_id 0 syndrom 0x81\n", Answer.ERROR),
            (
                " 65536      0       0.000000            0.000000            0.000000\n" + tools.DASHES + "\n",
                Answer.NOT_MEASURED,
            ),
            (" 65536      5           inf            -nan\t\t     -nan\n" + tools.DASHES + "\n", Answer.INVALID),
            (" 65536      5000       391.0            39", Answer.INCOMPLETE),
            (" 65536      5000       392.00             391.34 \t\t     0.7464", Answer.INCOMPLETE),
            (" 65536      5000       392.00             191.34 \t\t     0.746430\n", Answer.INVALID),
        ],
    )
    def test_a_table_without_a_value_says_why(self, end: str, answer: Answer) -> None:
        reading = read(tools.perftest("", end=end))
        assert reading.answer is answer
        assert not [name for name in reading.values if name.startswith("avg_Gbps")]

    @pytest.mark.parametrize("status", ["12", "-transport retry counter exceeded (12)"])
    def test_a_completion_error_has_its_status_and_syndrome(self, status: str) -> None:
        text = f" Failed status{status if status[0] == '-' else ' ' + status}: wr_id 0 syndrom 0x81\n scnt=9, ccnt=4\n"
        values = read(tools.perftest("", end=text)).values
        assert (values["wc_status"], values["syndrome"], values["completed"]) == (12, "0x81", 4)

    @pytest.mark.parametrize(
        "text",
        [
            "Couldn't connect to 10.61.3.20:18515\nUnable to open file descriptor for socket connection\n",
            "\n************************************\n* Waiting for client to connect... *\n************\n",
            " IB device mlx5_9 not found\n Unable to find the Infiniband/RoCE device\n",
        ],
    )
    def test_a_test_that_never_started_measured_nothing(self, text: str) -> None:
        assert read(text).answer is Answer.NOT_MEASURED

    def test_a_number_alone_has_no_unit(self) -> None:
        reading = read("391.840000\n")
        assert (reading.answer, dict(reading.values)) == (Answer.AMBIGUOUS, {"value": 391.84})

    def test_two_tests_in_one_file_are_ambiguous(self) -> None:
        lines = zip(
            tools.PERFTEST.splitlines(), tools.perftest(tools.bandwidth_row(65536, 190.0)).splitlines(), strict=True
        )
        mixed = "".join(f"{first}\n{second}\n" for first, second in lines)
        for text in (mixed, tools.PERFTEST + tools.PERFTEST):
            reading = read(text)
            assert (reading.answer, dict(reading.values)) == (Answer.AMBIGUOUS, {"tests": 2})

    @pytest.mark.parametrize("prefix", ["gpu-1: ", "[1,0]<stdout>:", "gpu-1:"])
    def test_the_prefix_of_a_launcher_is_left_out(self, prefix: str) -> None:
        text = "".join(prefix + line for line in tools.PERFTEST.splitlines(keepends=True))
        assert read(text).values["avg_Gbps"] == 391.34

    def test_latency_has_a_tail_and_read_is_a_round_trip(self) -> None:
        reading = read(tools.perftest(tools.LATENCY_ROW, "RDMA_Read Latency", tools.LATENCY_HEADER))
        assert reading.answer is Answer.OK
        assert (reading.values["p999_us"], reading.values["t_typical_us"]) == (7.5, 1.2)
        assert reading.values["round_trip"] is True
        assert "t_stdev_us" not in reading.values

    def test_a_latency_whose_tail_is_below_its_minimum_is_invalid(self) -> None:
        row = tools.LATENCY_ROW.replace("7.50", "0.50")
        assert read(tools.perftest(row, "RDMA_Write Latency", tools.LATENCY_HEADER)).answer is Answer.INVALID

    def test_qos_rows_have_a_service_level(self) -> None:
        header = " #bytes    #sl      #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        row = " 65536      3           4000           97.91              97.44                     0.185852\n"
        values = read(tools.perftest(row, header=header)).values
        assert (values["sl"], values["avg_Gbps"]) == (3, 97.44)

    def test_ports_and_periods_have_values_of_their_own(self) -> None:
        header = tools.BANDWIDTH_HEADER.rstrip("\n") + "   BW Port1[Gb/sec]   MsgRate Port1[Mpps]"
        row = tools.bandwidth_row(65536, 391.34).rstrip("\n")
        ports = read(tools.perftest(row + "        195.67             0.373211\n", header=header + "\n"))
        assert (ports.answer, ports.values["port1_Gbps"], ports.values["avg_Gbps"]) == (Answer.OK, 195.67, 391.34)
        endless = read(tools.perftest(tools.bandwidth_row(65536, 391.0) + tools.bandwidth_row(65536, 381.0), end=""))
        assert endless.answer is Answer.OK
        assert (endless.values["avg_Gbps_at_65536"], endless.values["avg_Gbps_min"]) == (386.0, 381.0)

    def test_a_small_mtu_and_infiniband_are_remarked(self) -> None:
        reading = read(tools.perftest(tools.bandwidth_row(65536, 391.34), mtu=1024, link="IB"))
        assert reading.remarks == (
            "the path MTU is 1024: at most 92.6% of the line rate is payload; check the MTU first",
            "the link type is InfiniBand: this is not a test of RoCE",
        )


class TestPerftestJson:
    def test_bare_words_of_old_releases_are_read(self) -> None:
        old = tools.PERFTEST_JSON.replace('"', "").replace("\n}", ",\n}")
        reading = read(old)
        assert (reading.answer, reading.values["avg_Gbps"]) == (Answer.AMBIGUOUS, 391.84)

    def test_mebibytes_follow_from_the_message_rate(self) -> None:
        reading = read(tools.PERFTEST_JSON.replace("391.84", "46711.00"))
        assert (reading.answer, reading.values["avg_Gbps"]) == (Answer.OK, 391.84)

    @pytest.mark.parametrize(
        ("old", "new", "answer"),
        [
            ('"BW_average": 391.84', '"BW_average": -nan', Answer.INVALID),
            ('"BW_average": 391.84', '"BW_average": -3.10', Answer.INVALID),
            ('"BW_average": 391.84', '"BW_average": 100.00', Answer.AMBIGUOUS),
            ('"n_iterations": 5000', '"n_iterations": 0', Answer.NOT_MEASURED),
            (
                '"MsgSize": 65536,\n"n_iterations": 5000,\n"BW_peak": 392.10,\n"BW_average"',
                '"bw_avg"',
                Answer.AMBIGUOUS,
            ),
            ("RDMA_Write_BW", "RDMA_Write_Bidirectional_BW", Answer.AMBIGUOUS),
            ('\n"MsgRate": 0.747375\n}\n}\n', '\n"MsgRa', Answer.INCOMPLETE),
            ('"BW_average": 391.84', '"BW_average": 391.8"BW_average": 1.0', Answer.AMBIGUOUS),
            ('"BW_peak"', '"BW_average"', Answer.AMBIGUOUS),
        ],
    )
    def test_defects_are_answers(self, old: str, new: str, answer: Answer) -> None:
        assert old in tools.PERFTEST_JSON
        reading = read(tools.PERFTEST_JSON.replace(old, new))
        assert (reading.format, reading.answer) == ("perftest-json", answer)
        assert "avg_Gbps" not in reading.values

    def test_two_results_in_one_file_are_ambiguous(self) -> None:
        assert read(tools.PERFTEST_JSON * 2).answer is Answer.AMBIGUOUS

    def test_latency_without_percentiles_did_not_measure_the_tail(self) -> None:
        results = '"MsgSize": 2,\n"n_iterations": 9,\n"t_avg": 2.39,\n"tps_average": 209311.42\n}\n}\n'
        text = tools.PERFTEST_JSON[: tools.PERFTEST_JSON.index('"MsgSize"')].replace("BW", "Latency") + results
        reading = read(text)
        assert (reading.answer, reading.values["p999_us"]) == (Answer.NOT_MEASURED, "not-measured")


class TestNccl:
    def test_sizes_and_places_have_values(self) -> None:
        values = read(tools.NCCL).values
        assert (values["ranks"], values["nodes"], values["wrong"]) == (2, 2, 0)
        assert values["busbw_GBps_at_1073741824_ip"] == 380.48
        assert values["avg_busbw_GBps"] == 245.878

    def test_a_log_line_within_a_row_is_taken_out(self) -> None:
        log = "node-b:41011:41302 [3] NCCL INFO NET/IB: timeout set to 22.\n"
        broken = tools.NCCL.replace("  202.63  379.93", f"  {log}202.63  379.93")
        assert read(broken).values["busbw_GBps_at_1073741824_oop"] == 379.93
        warning = "\n[2026-05-05 06:16:47] node-b:41011:41302 [3] net.cc:3 NCCL WARN port error\n"
        reading = read(tools.NCCL.replace("  202.63  379.93", f"{warning} 202.63  379.93"))
        assert (reading.answer, reading.values["warn"]) == (Answer.OK, 1)
        assert reading.values["busbw_GBps_at_1073741824_oop"] == 379.93
        assert any("port error" in remark for remark in reading.remarks)

    def test_a_row_that_cannot_be_joined_is_incomplete(self) -> None:
        reading = read(tools.NCCL.replace("  202.63  379.93", ""))
        assert reading.answer is Answer.INCOMPLETE
        assert "busbw_GBps_at_1073741824_oop" not in reading.values
        assert reading.values["busbw_GBps_at_1048576_oop"] == 111.39

    @pytest.mark.parametrize(
        ("text", "answer"),
        [
            (tools.NCCL_HEADER, Answer.INCOMPLETE),
            (tools.NCCL_HEADER + tools.NCCL_ROW, Answer.INCOMPLETE),
            (tools.NCCL_HEADER[: tools.NCCL_HEADER.index("#       size")], Answer.INCOMPLETE),
            (tools.NCCL.replace("0 OK", "3 FAILED"), Answer.ERROR),
            (tools.NCCL.replace("111.39      0", "111.39      9"), Answer.ERROR),
            (tools.NCCL.replace("245.878 ", "245.878 FAILED"), Answer.ERROR),
            (tools.NCCL.replace("379.93", "inf"), Answer.INVALID),
            (tools.NCCL_HEADER + "node-a: Test NCCL failure common.cu:1010 'unhandled system error'\n", Answer.ERROR),
            (tools.NCCL + tools.NCCL, Answer.AMBIGUOUS),
            (
                tools.NCCL.replace("#  Rank  1 Group  0 Pid   4101 on    node-b device  0 [0x18] NVIDIA H200\n", ""),
                Answer.NOT_MEASURED,
            ),
        ],
    )
    def test_defects_are_answers(self, text: str, answer: Answer) -> None:
        assert read(text).answer is answer

    def test_unchecked_values_time_stamps_and_other_operations(self) -> None:
        text = tools.NCCL.replace("     sum      -1", "    none      -1").replace("111.39      0", "111.39    N/A")
        text = text.replace("#wrong\n", "#wrong            timestamp\n", 1)
        text = text.replace("380.48      0\n", "380.48      0  2026-10-02 03:14:09\n").replace("cputime", "time")
        reading = read(text)
        assert reading.answer is Answer.OK
        assert reading.values["busbw_GBps_at_1073741824_ip"] == 380.48

    def test_cycles_of_rccl_tests_stay_apart_and_appended_columns_are_left_out(self) -> None:
        row = tools.NCCL_LARGE.replace("\n", "    RING      SIMPLE          64\n")
        rows = f"# Testing 1 cycle.\n{row}# Testing 2 cycle.\n{row.replace('379.93', '279.93')}"
        values = read(tools.NCCL_HEADER + rows + tools.NCCL_END).values
        assert (values["cycles"], values["busbw_GBps_cycle1_oop"], values["busbw_GBps_oop"]) == (2, 279.93, 279.93)

    def test_only_in_place(self) -> None:
        row = tools.NCCL_ROW.replace("   141.2   59.41  111.39      0", " " * 32)
        values = read(tools.NCCL_HEADER + row + tools.NCCL_END).values
        assert values["busbw_GBps_ip"] == 111.71
        assert "busbw_GBps_oop" not in values

    def test_the_environment_never_leaves_the_reader(self) -> None:
        reading = read(tools.NCCL_JSON)
        assert (reading.answer, reading.values["nccl_version"]) == (Answer.OK, "2.31.1")
        assert "secret-of-env" not in repr(reading)
        cut = read(tools.NCCL_JSON[:120])
        assert cut.answer is Answer.INCOMPLETE
        assert "secret-of-env" not in repr(cut)

    @pytest.mark.parametrize(
        ("old", "new", "answer"),
        [
            ('"okay":"true"', '"okay":"false"', Answer.ERROR),
            ('"version":3', '"version":9', Answer.AMBIGUOUS),
            ('"nwrong":0.0', '"nwrong":7.0', Answer.ERROR),
            ('"okay":"unchecked"', '"okay":"false"', Answer.ERROR),
            ('"bus_bw":379.93', '"bus_bw":"nan"', Answer.INVALID),
            (',"end_time":"2026-10-02 03:15:09"', "", Answer.INCOMPLETE),
            ('"end_time":"2026-10-02 03:15:09"}', "", Answer.INCOMPLETE),
            (',{"rank":1,"hostname":"node-b"}', "", Answer.NOT_MEASURED),
        ],
    )
    def test_json_defects_are_answers(self, old: str, new: str, answer: Answer) -> None:
        assert read(tools.NCCL_JSON.replace(old, new)).answer is answer

    def test_iterations_of_json_are_read(self) -> None:
        report = (
            '"out_of_place_per_iter":{"min_us":1.0,"max_us":4.0,"p99_us":4.0,"cv_pct":31.2,"times_us":[1.0]},"in_place"'
        )
        values = read(tools.NCCL_JSON.replace('"in_place"', report)).values
        assert (values["i_max_us_oop"], values["i_cv_pct_oop"]) == (4.0, 31.2)


class TestRccl:
    def test_json_lines_and_cycles(self) -> None:
        row = {"#wrong": "0", "busBw": 300.0, "gpus": 8, "inPlace": 1, "name": "AllReduce", "size": 4096, "time": 9.5}
        slow = {**row, "busBw": 200.0, "numCycle": 1}
        reading = read(json.dumps(row) + "\n" + json.dumps(slow) + "\n")
        assert reading.answer is Answer.OK
        assert (reading.values["busbw_GBps"], reading.values["busbw_GBps_cycle0_ip"]) == (200.0, 300.0)
        assert reading.values["cv_pct_ip"] == 28.28
        assert read(json.dumps(row) + '\n{"#wrong":"0","busBw":30').answer is Answer.INCOMPLETE

    def test_several_collectives_are_ambiguous(self) -> None:
        assert read(tools.RCCL_JSON.replace("AllReduce", "AllGather", 1)).answer is Answer.AMBIGUOUS

    def test_csv_of_other_languages(self) -> None:
        german = "numCycle;collective;gpus;size;type;redop;inplace;time;algbw;busbw;#wrong\n"
        german += "0;AllReduce;8;1.073.741.824;float;sum;1;6003,25;178,86;313,005;0\n"
        values = read(german).values
        assert (values["size"], values["busbw_GBps"], values["time_us"]) == (1073741824, 313.005, 6003.25)

    def test_csv_that_was_cut(self) -> None:
        reading = read(tools.RCCL_CSV[:-20])
        assert (reading.answer, reading.values["rows"]) == (Answer.INCOMPLETE, 1)
        assert read(tools.RCCL_CSV.rstrip("\n")).answer is Answer.OK

    def test_csv_whose_header_lacks_nodes(self) -> None:
        text = "numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,algbw,busbw,#wrong\n"
        values = read(text + '0,"AllGather",2,16,8,1,1048576,"half","none",0,2811.5,381.9,358.0,0\n').values
        assert (values["nodes"], values["ranks"], values["size"], values["busbw_GBps"]) == (2, 16, 1048576, 358.0)


class TestIperf3:
    def test_buffers_of_parallel_streams_are_in_one_object(self) -> None:
        # As iperf3 3.12 writes them with -P 2.
        buffers = '"sock_bufsize":0,"sndbuf_actual":16384,"rcvbuf_actual":131072,'
        text = tools.IPERF3.replace('"start":{', '"start":{' + 2 * buffers)
        assert read(text) == read(tools.IPERF3)
        assert read(text[:-1]).answer is Answer.INCOMPLETE
        assert read(text.replace('"test_start"', '"version"')).answer is Answer.AMBIGUOUS

    def test_an_error_comes_first(self) -> None:
        text = tools.IPERF3[:-1] + ',"error":"interrupt - the client has terminated"}'
        reading = read(text)
        assert (reading.answer, reading.values["sent_bps"]) == (Answer.INCOMPLETE, 9.5e9)
        refused = '{"start":{},"intervals":[],"end":{},"error":"unable to connect to server"}'
        assert read(refused).answer is Answer.NOT_MEASURED

    def test_udp_has_losses(self) -> None:
        end = '"end":{"sum":{"bits_per_second":1e9,"lost_packets":50,"packets":1000,"lost_percent":5.0}}}'
        values = read(tools.IPERF3[: tools.IPERF3.index('"end"')] + end).values
        assert (values["lost_packets"], values["lost_pct"], values["received_bps"]) == (50, 5.0, 0.95e9)

    def test_streamed_events_are_joined(self) -> None:
        report = json.loads(tools.IPERF3)
        events = [{"event": name, "data": report[name]} for name in ("start", "end")]
        text = "".join(json.dumps(event) + "\n" for event in events)
        assert read(text).values["received_bps"] == 9.4e9
        assert read(json.dumps(events[0]) + "\n").answer is Answer.INCOMPLETE

    def test_a_report_that_was_cut_is_incomplete(self) -> None:
        assert read(tools.IPERF3[:-30]).answer is Answer.INCOMPLETE
        assert read(tools.IPERF3.replace("9.4e9", "0")).answer is Answer.NOT_MEASURED


class TestSuites:
    def test_latencies_of_cvs_and_a_log_prefix(self) -> None:
        text = "INFO {'ib_write_lat': {8: {'10.0.0.4': {0: {'t_typical': '2.10', 't_99_9_pct': '9.93'}}}}}\n"
        values = read(text).values
        assert (values["10.0.0.4/0"], values["10.0.0.4/0_p999_us"]) == (2.1, 9.93)

    def test_a_health_check_fails_with_the_device(self) -> None:
        failed = (
            "ERROR:  nhc:  Health check failed:  check_ib_bw_gdr: ib_write_bw, IB=mlx5_1, mlx5_1, IB BW (expected > 380"
        )
        reading = read(tools.NHC + failed + " Gbps, but measured 171.02 Gbps. FaultCode: NHC2003\n")
        assert (reading.answer, reading.values["mlx5_1"]) == (Answer.ERROR, 171.02)

    def test_ras_names_what_is_missing(self) -> None:
        text = tools.RAS.replace("16   RUNNING      OK", "14   RUNNING  INCOMPLETE").replace(
            "Errors\n======\n",
            "Errors\n======\n\nINCOMPLETE\n  Missing communicator data from 2 job processes\n"
            "  Process 12 on node 10.0.0.6 managing GPU 5\n  Process 13 on node 10.0.0.7 managing GPU 6\n",
        )
        reading = read(text)
        assert reading.answer is Answer.ERROR
        assert (reading.values["missing"], reading.values["missing_node"], reading.values["missing_gpu"]) == (
            2,
            "10.0.0.6",
            5,
        )
        assert read("read socket: Connection reset by peer\n").answer is Answer.NOT_MEASURED
        assert read(tools.RAS[: tools.RAS.index("Warnings")]).answer is Answer.INCOMPLETE
        broken = tools.RAS_JSON.replace('"missing_ranks_count":0', '"missing_ranks_count":1')
        assert read(broken).answer is Answer.ERROR

    def test_diagnostics_of_one_node_measured_no_network(self) -> None:
        lines = tools.DIAGNOSTICS.splitlines(keepends=True)
        reading = read(lines[0] + lines[1] + lines[3])
        assert (reading.answer, reading.values["p2p_ok"]) == (Answer.NOT_MEASURED, True)
        partial = lines[1].replace("[OK]  ", "[INFO]").replace("all 56", "54/56")
        assert read(lines[0] + partial + lines[3]).answer is Answer.ERROR
        assert read("".join(lines[:3])).answer is Answer.INCOMPLETE

    def test_diagnostics_within_nccl_tests_are_read_with_the_table(self) -> None:
        outlier = (
            "node-a:15 NCCL DIAG [INFO] net bw: cross-nic rank 1 (node-b): 211.8 Gbit/s, >30% off median 388.9 Gbit/s\n"
        )
        reading = read(tools.DIAGNOSTICS + outlier + tools.NCCL)
        assert (reading.format, reading.answer) == ("nccl-text", Answer.ERROR)
        assert reading.values["outlier_host"] == "node-b"
        assert reading.values["busbw_GBps_at_1073741824_oop"] == 379.93


def test_outputs_of_several_programs_in_one_file_are_ambiguous() -> None:
    reading = read(tools.PERFTEST + tools.NCCL)
    assert reading.answer is Answer.AMBIGUOUS
    assert reading.remarks == ("output of several programs in one file: perftest-text, nccl-text",)


@pytest.mark.parametrize("text", ["", " \n", "hello\n", "{}", "[]", "null", "{" * 9000, "\x00\x01", '{"a": 1}'])
def test_what_nobody_knows_is_not_measured(text: str) -> None:
    reading = read(text)
    assert (reading.format, reading.answer) == ("", Answer.NOT_MEASURED)
    assert reading.remarks


@pytest.mark.parametrize(
    "text",
    [
        tools.NCCL_HEADER + "node-a:1:1 [0] " * 10_000,
        tools.NCCL_HEADER + "a" * 100_000,
        tools.RAS + "\n" * 100_000,
        "#bytes Failed status-" * 5_000,
        '{"a":' * 60_000,
        tools.RCCL_CSV + '"' + "x" * 200_000,
    ],
    ids=["log", "word", "blank", "status", "nested", "field"],
)
def test_a_long_file_is_read_at_once(text: str) -> None:
    # A reader that looks at each part of a line once for each part of it would take minutes here.
    assert read(text).answer is not Answer.OK or text.startswith("NCCL version")
