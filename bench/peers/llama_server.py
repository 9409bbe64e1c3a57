"""llama.cpp's HTTP server (xllamacpp's build of it) on the CPU, until it is ended.

usage: llama_server.py GGUF PORT SLOTS CONTEXT THREADS   CONTEXT tokens for each of SLOTS answers at once
"""
import signal
import sys

import xllamacpp


def main():
    gguf, port, slots, context, threads = sys.argv[1], *map(int, sys.argv[2:])
    params = xllamacpp.CommonParams()
    params.model.path = gguf
    params.port = port
    params.n_parallel = slots
    params.n_ctx = slots * context
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
