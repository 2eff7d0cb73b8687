"""Small recordings of other profilers for documents_test.py: what varies is what such a file can hold."""
import json
import sqlite3

PROCESS = 9
MAIN, BACKWARD = 11, 12
GIB = 1 << 30
# Operations of PyTorch with the sizes, types and values of their arguments.
OPERATIONS = [
    ("aten::mm", [[64, 128], [128, 32]], ["c10::BFloat16", "c10::BFloat16"], ["", ""]),
    ("aten::addmm", [[32], [64, 128], [128, 32], [], []], ["float", "c10::Half", "c10::Half", "Scalar", "Scalar"], ["", "", "", "1", "1"]),
    ("aten::bmm", [[8, 16, 4], [8, 4, 2]], ["float", "float"], ["", ""]),
    ("aten::baddbmm", [[8, 16, 2], [8, 16, 4], [8, 4, 2]], ["double", "double", "double"], ["", "", ""]),
    ("aten::linear", [[4, 16, 32], [64, 32], [64]], ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"], ["", "", ""]),
    ("aten::convolution", [[2, 3, 8, 6], [4, 3, 3, 3], [4], [], [], [], [], [], []], ["float", "float", "float", "", "", "", "", "", ""],
     ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]),
    ("aten::convolution", [[2, 4, 4, 3], [4, 3, 3, 3], [], [], [], [], [], [], []], ["float", "float", "", "", "", "", "", "", ""],
     ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[0, 0]", "1"]),
    ("aten::convolution_backward", [[2, 4, 4, 3], [2, 3, 8, 6], [4, 3, 3, 3], [], [], [], [], [], [], [], []],
     ["float", "float", "float", "", "", "", "", "", "", "", ""],
     ["", "", "", "[4]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, True]"]),
    ("aten::_scaled_dot_product_flash_attention", [[2, 4, 16, 32], [2, 4, 24, 32], [2, 4, 24, 32], [], []],
     ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"], ["", "", "", "0.", "True"]),
    ("aten::_scaled_dot_product_efficient_attention", [[2, 4, 16, 32], [2, 4, 16, 32], [2, 4, 16, 32], [], []],
     ["c10::Half", "c10::Half", "c10::Half", "", "Scalar"], ["", "", "", "", "False"]),
    ("aten::native_layer_norm", [[64, 128], [], [128], [128], []], ["float", "ScalarList", "float", "float", "Scalar"], ["", "[128]", "", "", "1e-05"]),
    ("aten::add_", [[64, 128], [64, 128], []], ["float", "float", "Scalar"], ["", "", "1"]),
    ("aten::copy_", [[64, 128], [64, 128], []], ["c10::BFloat16", "float", "Scalar"], ["", "", "False"]),
    ("aten::mul", [[64, 128], []], ["c10::complex<float>", "Scalar"], ["", "2"]),
    ("aten::mm", [[], []], ["float", "float"], ["", ""]),
    ("aten::mm", [[2, 3], [4, 5]], ["float", "float"], ["", ""]),
]
KERNELS = ["ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "void gemm<float, 128>(float*)", "void add<float>(float*)",
           "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int)",
           "flash_fwd_kernel", "void cudnn::norm<\"quoted\", 'é'>()"]


def kineto(rank=0, steps=3):
    """Three steps of torch.profiler: operations with shapes, forward and backward, copies, waits, a graph, collectives, and what is broken."""
    events, number = [], [1]

    def add(kind, name, thread, start_us, length_us, process=PROCESS, **arguments):
        events.append({"ph": "X", "cat": kind, "name": name, "pid": process, "tid": thread, "ts": round(start_us, 3), "dur": round(length_us, 3),
                       "args": arguments})

    def launch(name, call_us, start_us, length_us, stream=7, thread=MAIN, grid=(64, 2, 1), call="cudaLaunchKernel", **more):
        correlation = number[0]
        number[0] += 1
        add("cuda_runtime", call, thread, call_us, 2.5, correlation=correlation, cbid=211)
        add("kernel", name, stream, start_us, length_us, 0, device=0, context=1, stream=stream, correlation=correlation, grid=list(grid),
            block=[256, 1, 1], **{"registers per thread": 40, "shared memory": 4096, "est. achieved occupancy %": 50}, **more)
        return correlation

    for step in range(steps):
        at = 1000 + 3000 * step
        add("user_annotation", f"ProfilerStep#{step + 5}", MAIN, at, 2900)
        add("user_annotation", "forward", MAIN, at + 5, 1400)
        gpu = at + 60
        for i, (name, sizes, types, values) in enumerate(OPERATIONS):
            call = at + 10 + 80 * i
            add("cpu_op", name, MAIN, call, 60, **{"External id": 100 * step + i, "Input Dims": sizes, "Input type": types, "Concrete Inputs": values,
                                                   "Sequence number": i, "Fwd thread id": 0})
            if i % 5 == 4:  # an operation inside the other, which launches
                add("cpu_op", "aten::fill_", MAIN, call + 5, 30, **{"External id": 900 + i, "Input Dims": [[4]], "Input type": ["float"]})
            start = max(gpu, call + 12) + 1.25
            length = 20.5 + 7 * (i % 4) + 0.001 * step
            launch(KERNELS[i % len(KERNELS)], call + 8, start, length, grid=(64 + i, 2, 1), **({"External id": 100 * step + i} if i % 2 else {}))
            gpu = start + length
        add("user_annotation", "backward", BACKWARD, at + 1450, 700)
        launch(KERNELS[0], at + 1460, gpu + 5, 90, thread=BACKWARD, stream=20)
        launch(KERNELS[2], at + 1470, gpu + 20, 40, thread=BACKWARD, stream=7, call="cuLaunchKernelEx")
        copy = number[0]
        number[0] += 3
        add("cuda_runtime", "cudaMemcpyAsync", MAIN, at + 2200, 12, correlation=copy)
        add("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 7, at + 2205, 30, 0, device=0, stream=7, correlation=copy, bytes=1 << 20)
        add("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 7, at + 2250, 10, 0, device=0, stream=7, correlation=copy + 1, bytes=4096)
        add("gpu_memset", "Memset (Device)", 7, at + 2270, 2, 0, device=0, stream=7, correlation=copy + 2, bytes=512)
        add("cuda_runtime", "cudaStreamSynchronize", MAIN, at + 2280, 100, correlation=9000 + step)
        add("cuda_runtime", "cudaDeviceSynchronize", MAIN, at + 2400, 50, correlation=9100 + step)
        graph = 20000 + step
        add("cuda_runtime", "cudaGraphLaunch", MAIN, at + 2470, 9, correlation=graph)
        for node in range(3):
            add("kernel", KERNELS[node], 7, at + 2490 + 20 * node, 15, 0, device=0, context=1, stream=7, correlation=graph, grid=[8, 1, 1],
                block=[128, 1, 1], **{"graph node id": 3 + node, "graph id": 4})
        group = {"Process Group Name": "7", "Process Group Ranks": "[0, 1]", "Group size": 2, "dtype": "BFloat16"}
        launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", at + 2600, at + 2610, 80, stream=30, grid=(8, 1, 1), Seq=step,
               **{"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, **group})
        launch("ncclDevKernel_AllGather_RING_LL", at + 2700, at + 2710, 40, stream=30, grid=(8, 1, 1),
               **{"Collective name": "_allgather_base", "In msg nelems": 100, "Out msg nelems": 200, **group})
    # What no reader can use: it is counted, and said.
    events += [{"ph": "X", "cat": "kernel", "name": "without a time", "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}},
               {"ph": "X", "cat": "kernel", "name": "of no length", "pid": 0, "tid": 7, "ts": 5000, "dur": -4, "args": {"device": 0, "stream": 7}},
               {"ph": "X", "cat": "kernel", "name": "without a call", "pid": 0, "tid": 7, "ts": 5001.5, "dur": 1, "args": {"device": 0, "stream": 7,
                                                                                                             "correlation": 777777}},
               {"ph": "i", "cat": "trace", "name": "Record Window End", "pid": "", "tid": "", "ts": 9990},
               {"ph": "M", "name": "process_name", "pid": PROCESS, "tid": 0, "ts": 0, "args": {"name": "python3"}},
               {"ph": "M", "name": "thread_name", "pid": PROCESS, "tid": MAIN, "ts": 0, "args": {"name": "thread 11 (trainer)"}}]
    device = {"id": 0, "name": "NVIDIA A100-SXM4-40GB", "totalGlobalMem": 40 * GIB, "computeMajor": 8, "computeMinor": 0, "maxThreadsPerBlock": 1024,
              "maxThreadsPerMultiprocessor": 2048, "regsPerBlock": 65536, "warpSize": 32, "sharedMemPerBlock": 49152, "numSms": 108}
    return json.dumps({"schemaVersion": 1, "deviceProperties": [device], "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2, "pg_count": 1,
                       "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]}]}, "cuda_driver_version": 12040,
                       "record_shapes": 1, "baseTimeNanoseconds": 1700000000000000000, "traceName": "/tmp/trace.json", "traceEvents": events}, indent=1)


NSYS_TABLES = {
    "META_DATA_EXPORT": "name TEXT, value TEXT",
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER",
    "TARGET_INFO_GPU": "id INTEGER, name TEXT, memoryBandwidth INTEGER, smCount INTEGER, totalMemory INTEGER, clockRate INTEGER, computeMajor INTEGER, "
                       "computeMinor INTEGER, cuDevice INTEGER",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, "
                                   "returnValue INTEGER, callchainId INTEGER",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, "
                                  "globalPid INTEGER, demangledName INTEGER, shortName INTEGER, mangledName INTEGER, launchType INTEGER, "
                                  "registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, "
                                  "blockZ INTEGER, clusterX INTEGER, clusterY INTEGER, clusterZ INTEGER, staticSharedMemory INTEGER, "
                                  "dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER, sharedMemoryExecuted INTEGER, graphNodeId INTEGER, "
                                  "graphId INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, "
                                  "globalPid INTEGER, bytes INTEGER, copyKind INTEGER, copyCount INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, "
                                  "globalPid INTEGER, bytes INTEGER, value INTEGER",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, "
                                           "globalPid INTEGER, syncType INTEGER, eventId INTEGER",
    "NVTX_EVENTS": "start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, "
                   "endGlobalTid INTEGER, textId INTEGER, domainId INTEGER",
    "DIAGNOSTIC_EVENT": "timestamp INTEGER, timestampType INTEGER, source INTEGER, severity INTEGER, text TEXT, globalPid INTEGER",
}


# What newer exports have beside: names of processes and threads, whose device is which GPU, the machine.
NSYS_MORE_TABLES = {
    "PROCESSES": "globalPid INTEGER, pid INTEGER, name TEXT", "ThreadNames": "nameId INTEGER, priority INTEGER, globalTid INTEGER",
    "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER, cudaId INTEGER, pid INTEGER", "TARGET_INFO_SYSTEM_ENV": "globalVid INTEGER, devStateName TEXT, name TEXT, value TEXT",
}


def nsys(path, without=(), steps=4, more=False):
    """An export of Nsight Systems: pushed and started ranges, calls, two streams, a graph, clusters, waits, errors, two processes."""
    database = sqlite3.connect(path)
    for name, columns in {**NSYS_TABLES, **(NSYS_MORE_TABLES if more else {})}.items():
        if name in without:
            continue
        database.execute(f"CREATE TABLE {name}({columns})")

    def rows(table, *values):
        if table in without:
            return
        for row in values:
            database.execute(f"INSERT INTO {table} VALUES({', '.join('?' * len(row))})", row)

    names = ["", "add", "void add<float>(float*)", "_Z3addIfEvPT_", "cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "gemm", "sm90_gemm", "step",
             "cudaStreamSynchronize_v3020", "cuLaunchKernelEx", "forward", "cudaGraphLaunch_v10000", "cudaMemsetAsync_v3020", "cudaEventSynchronize_v3020"]
    rows("META_DATA_EXPORT", ("EXPORT_SCHEMA_VERSION", "3.24.0"), ("EXPORT_PRODUCT_VERSION", "2025.1.1"))
    rows("StringIds", *[(i, name) for i, name in enumerate(names) if i])
    rows("TARGET_INFO_SESSION_START_TIME", (1_700_000_000_000_000_000,))
    rows("TARGET_INFO_GPU", (0, "NVIDIA H100 80GB HBM3", 3_352_320_000_000, 132, 80 * GIB, 1_980_000_000, 9, 0, 0))
    for process, offset in ((77, 0), (78, 7_000)):
        pid = (1 << 48) | (process << 24)
        tid, other = pid + 5, pid + 6
        correlation = 10
        for step in range(steps):
            at = 100_000 + 400_000 * step + offset
            rows("NVTX_EVENTS", (at, at + 350_000, 59, None, None, None, None, tid, None, 8, 0),
                 (at + 1_000, at + 200_000, 60, 4 + step, None, None, None, tid, other, 11, 0),
                 (at + 3_000, at + 90_000, 59, None, None, None, f"layer {step % 2}", tid, None, None, 0))
            for k in range(6):
                call, start = at + 5_000 + 20_000 * k, at + 12_000 + 30_000 * k
                graph = 9 if k == 5 else None
                rows("CUPTI_ACTIVITY_KIND_RUNTIME", (call, call + 3_000 + k, 0, tid if k % 2 else other, correlation, 12 if k == 5 else 10 if k == 3 else 4, 0, 0))
                rows("CUPTI_ACTIVITY_KIND_KERNEL", (start, start + 20_123 + 7 * k, 0, 1, 7 + k % 2, correlation, pid, 2 if k % 3 else 7, 1 if k % 3 else 6,
                                                    3 if k % 3 else 7, 1 if graph else 0, 32 + k, 4 + k, 2, 1, 128, 1, 1, 2 if k == 4 else 0, 1 if k == 4 else 0,
                                                    1 if k == 4 else 0, 16, 64 * k, 8, 1024, 5 if graph else None, graph))
                correlation += 1
            rows("CUPTI_ACTIVITY_KIND_RUNTIME", (at + 210_000, at + 215_000, 0, tid, correlation, 5, 0, 0), (at + 216_000, at + 217_000, 0, tid, correlation + 1, 13, 0, 0),
                 (at + 220_000, at + 290_000, 0, tid, correlation + 2, 9, 0, 0), (at + 291_000, at + 299_000, 0, other, correlation + 3, 14, 1, 0))
            rows("CUPTI_ACTIVITY_KIND_MEMCPY", (at + 250_000, at + 260_000, 0, 1, 7, correlation, pid, 4_099 + step, 1 + step % 2, 1))
            rows("CUPTI_ACTIVITY_KIND_MEMSET", (at + 262_000, at + 262_500, 0, 1, 7, correlation + 1, pid, 513, 0))
            rows("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", (at + 221_000, at + 289_000, 0, 1, 7, correlation + 2, pid, 3, 0),
                 (at + 292_000, at + 298_000, 0, 1, 7, correlation + 3, pid, 1, 2))
            correlation += 4
    if more:
        first, second = ((1 << 48) | (process << 24) for process in (77, 78))
        rows("TARGET_INFO_GPU", (3, "NVIDIA H100 80GB HBM3", 3_352_320_000_000, 132, 80 * GIB, 1_980_000_000, 9, 0, 0))
        rows("PROCESSES", (first, 77, "python\ttrain.py"), (second, 78, None), (None, 79, "nobody"), ((1 << 48) | (99 << 24), 99, "idle"))
        rows("ThreadNames", (6, 0, first + 5), (8, 0, second + 6), (None, 0, first + 6), (6, 0, (99 << 24) + 1))
        rows("TARGET_INFO_CUDA_DEVICE", (0, 1, 77), (3, 0, 77), (3, 0, 78), (None, 1, 78))
        rows("TARGET_INFO_SYSTEM_ENV", (0, "a", "Hostname", "node\n7"), (0, "b", "OS", "Linux"))
        for kind in range(16):
            rows("CUPTI_ACTIVITY_KIND_MEMCPY", (2_000_000 + 1_000 * kind, 2_000_500 + 1_000 * kind, 0, 1, 7, 500 + kind, first, 100 + kind, kind, 1))
    rows("NVTX_EVENTS", (50, None, 34, None, None, None, "a mark", (1 << 48) + 5, None, None, 0), (60, None, 59, None, None, None, "never closed", (1 << 48) + 5,
                                                                                                  None, None, 0))
    rows("DIAGNOSTIC_EVENT", (1, 0, 0, 3, "Not all events might have been collected.", None))
    database.commit()
    database.close()


def ncu_raw(kernels, comma=False):
    """The page "raw" of Nsight Compute's results as CSV, of (name, grid, block, ns, bytes)."""
    head = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC",
            "device__attribute_max_gpu_frequency_khz", "gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
            "launch__func_cache_config", "gpc__cycles_elapsed.max", "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]
    units = [""] * 11 + ["", "us", "Mbyte", "Kbyte", "", "cycle", "%", "sector", ""]

    def number(value, decimals=3):
        text = f"{value:,.{decimals}f}"
        return text.translate(str.maketrans(",.", ".,")) if comma else text

    lines = ["==PROF== Connected to process 5", "loss 1.5", ",".join(f'"{name}"' for name in head), ",".join(f'"{unit}"' for unit in units)]
    for i, (name, grid, block, ns, size) in enumerate(kernels):
        fields = [str(i), "5", "python", "host", name.replace('"', '""'), "1", "7", f"({block}, 1, 1)", f"({grid}, 1, 1)", "0", "9.0", number(1980000, 0),
                  number(ns / 1e3), number(size / 1e6), number(size / 4e3), "CachePreferNone" if i % 2 else "n/a", number(ns * 1.5, 0), number(12.5 + i),
                  number(32e6 + i, 0), number(1e6, 0)]
        lines.append(",".join(f'"{field}"' for field in fields))
    return "\n".join(lines) + "\n==PROF== Disconnected\n"
