"""Small outputs of test tools, written for tests in the form that each program prints."""

DASHES = "-" * 87
BANDWIDTH_HEADER = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
MIB_HEADER = BANDWIDTH_HEADER.replace("Gb/sec", "MiB/sec")
LATENCY_HEADER = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
    "   99% percentile[usec]   99.9% percentile[usec] \n"
)
LATENCY_ROW = (
    " 8       1000          1.10           9.00         1.20     \t       1.25        "
    "\t0.00   \t\t1.90    \t\t7.50   \n"
)


def perftest(
    rows: str,
    title: str = "RDMA_Write BW",
    header: str = BANDWIDTH_HEADER,
    device: str = "mlx5_0",
    end: str = DASHES + "\n",
    mtu: int = 4096,
    link: str = "Ethernet",
) -> str:
    """Return a whole output of perftest with its settings."""
    return (
        f"{DASHES}\n                    {title} Test\n"
        f" Dual-port       : OFF\t\tDevice         : {device}\n"
        " Number of qps   : 4\t\tTransport type : IB\n Connection type : RC\t\tUsing SRQ      : OFF\n"
        f" TX depth        : 128\n Mtu             : {mtu}[B]\n Link type       : {link}\n"
        " rdma_cm QPs\t : ON\n Data ex. method : rdma_cm \tTOS    : 106\n"
        f"{DASHES}\n local address: LID 0000 QPN 0x0102 PSN 0x3a11c0\n{DASHES}\n{header}{rows}{end}"
    )


def bandwidth_row(size: int, average: float, scale: float = 1.0) -> str:
    """Return a row whose message rate fits the average; ``scale`` is Gb/s a unit."""
    rate = average * scale * 1000 / 8 / size
    return f" {size:<7}    {5000:<10}       {average * 1.001:<7.2f}            {average:<7.2f}\t\t     {rate:<7.6f}\n"


PERFTEST = perftest(bandwidth_row(65536, 391.34))
PERFTEST_JSON = (
    '{\n"test_info": {\n"test": "RDMA_Write_BW_Test",\n"Device": "mlx5_0",\n"Number_of_qps": 4,\n"Mtu": 4096,\n'
    '"Link_type": "Ethernet",\n"Data_ex_method": "Ethernet"\n},\n"results": {\n"MsgSize": 65536,'
    '\n"n_iterations": 5000,\n'
    '"BW_peak": 392.10,\n"BW_average": 391.84,\n"MsgRate": 0.747375\n}\n}\n'
)

NCCL_HEADER = (
    "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1073741824 step: 2(factor) validation: 1 graph: 0\n#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid   4100 on    node-a device  0 [0x18] NVIDIA H200\n"
    "#  Rank  1 Group  0 Pid   4101 on    node-b device  0 [0x18] NVIDIA H200\n#\n"
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong"
    "     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
)
NCCL_ROW = (
    "  1048576        262144     float     sum      -1    141.2   59.41  111.39      0"
    "    140.8   59.58  111.71      0\n"
)
NCCL_LARGE = (
    "1073741824     268435456     float     sum      -1   5299.1  202.63  379.93      0"
    "   5291.4  202.92  380.48      0\n"
)
NCCL_END = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 245.878 \n#\n"
NCCL = NCCL_HEADER + NCCL_ROW + NCCL_LARGE + NCCL_END

NCCL_JSON = (
    '{"version":3,"start_time":"2026-10-02 03:14:09","env":["TOKEN=secret-of-env"],"nccl_version":23101,'
    '"config":{"ngpus":1,"devices":[{"rank":0,"hostname":"node-a"},{"rank":1,"hostname":"node-b"}]},'
    '"results":[{"size":1073741824,"type":"float","root":"    -1","out_of_place":{"time":5299.1,"alg_bw":202.63,'
    '"bus_bw":379.93,"nwrong":0.0},"in_place":{"time":5291.4,"alg_bw":202.92,"bus_bw":380.48,"nwrong":0.0}}],'
    '"out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidth":{"bandwidth":380.2,"okay":"unchecked"},'
    '"errors":[""],"end_time":"2026-10-02 03:15:09"}'
)
RCCL_JSON = (
    '[\n{"numCycle":0, "name":"AllReduce", "nodes":2, "ranks":16, "ranksPerNode":8, "gpusPerRank":1, "size":1073741824,'
    ' "type":"float", "redop":"sum", "inPlace":0, "time":5300.0, "algBw":202.6, "busBw":379.86, "wrong":"0"},\n'
    '{"numCycle":0, "name":"AllReduce", "nodes":2, "ranks":16, "ranksPerNode":8, "gpusPerRank":1, "size":1073741824,'
    ' "type":"float", "redop":"sum", "inPlace":1, "time":5290.0, "algBw":202.9, "busBw":380.44, "wrong":"N/A"}\n]\n'
)
RCCL_CSV = (
    "numCycle,collective,gpus,size,type,redop,inplace,time,algbw,busbw,#wrong\n"
    '0,"AllReduce",8,1048576,"float","sum",0,98.3,10.66,18.66,0\n'
    '0,"AllReduce",8,1048576,"float","sum",1,97.9,10.71,18.74,0\n'
)
IPERF3 = (
    '{"start":{"connected":[],"version":"iperf 3.16","test_start":{"protocol":"TCP","reverse":0}},"intervals":[],'
    '"end":{"streams":[{}],"sum_sent":{"seconds":10.0,"bits_per_second":9.5e9,"retransmits":3,"sender":true},'
    '"sum_received":{"seconds":10.0,"bits_per_second":9.4e9,"sender":true}}}'
)
RAS = (
    "NCCL version 2.28.3 compiled with CUDA 12.9\n\nJob summary\n===========\n\n"
    "  Nodes  Processes         GPUs  Processes     GPUs\n(total)   per node  per process    (total)  (total)\n"
    "      2          8            1         16       16\n\nCommunicators... (0.00s)\n=============\n\n"
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
    "    #  in group  per comm  per node  per comm  in group\n"
    "    0         1         2         8        16        16   RUNNING      OK\n\n"
    "Errors\n======\n\nWarnings\n========\n"
)
DIAGNOSTICS = (
    "node-a:15 NCCL DIAG === NCCL Diagnostics ===\n"
    "node-a:15 NCCL DIAG [OK]   p2p: all 56 directed GPU P2P edges verified\n"
    "node-a:15 NCCL DIAG [OK] net bw: 381.0/389.2/392.4 Gbit/s min/median/max same-nic bw (across "
    "16 ranks) in comm 0x1\n"
    "node-a:15 NCCL DIAG NCCL diagnostics completed in 40.0 ms across 8 ranks\n"
)
NHC = (
    "SUCCESS:  nhc:  Health check passed:  check_ib_bw_gdr: IB write bandwidth test IB_WRITE_BW passed for IB=mlx5_0,"
    " IB BW=388.64 Gbps\n"
)
SUPERBENCH = '{"node": "node-a", "ib-traffic/return_code:0": 0, "nccl-bw/allreduce_8388608_busbw:0": 383.91}\n'
CVS = "{'ib_write_bw': {65536: {'2': {'10.0.0.4': {0: {'pps': '0.745', 'bw': '780.70'}}}}}}\n"
CVS_RCCL = '[{"name":"AllReduce","size":1048576,"inPlace":1,"num_runs":3,"busBw_mean":331.4,"busBw_std":2.1}]'
RAS_JSON = (
    '{"nccl_version":"2.28.9","communicators_count":1,"communicators":[{"size":2,"ranks_count":2,'
    '"missing_ranks_count":0,'
    '"ranks":[{"rank":0,"host":"node-a","status":{"async_error":0,"abort_flag":false}},'
    '{"rank":1,"host":"node-b","status":{"async_error":0,"abort_flag":false}}]}]}'
)

ALL = {
    "perftest-text": PERFTEST,
    "perftest-json": PERFTEST_JSON,
    "nccl-text": NCCL,
    "nccl-json": NCCL_JSON,
    "rccl-json": RCCL_JSON,
    "rccl-csv": RCCL_CSV,
    "iperf3-json": IPERF3,
    "ras-text": RAS,
    "ras-json": RAS_JSON,
    "nccl-diagnostics": DIAGNOSTICS,
    "nhc": NHC,
    "superbench": SUPERBENCH,
    "cvs-ibperf": CVS,
    "cvs-rccl": CVS_RCCL,
}
