"""A GGUF in OpenVINO GenAI, one prompt after another: what `bench/rivals/run.mjs` sets beside h2o-llama.

usage: genai.py MODEL MODE THREADS LONGEST [THRESHOLD]
       MODE: dense, xattention, trishape; LONGEST: tokens of the longest prompt; THRESHOLD: of xattention (0.8)

Writes `ready`, then reads JSON lines. Of { ids, predict } it writes { seconds, whole, cpu, tokens }: to the first token, to
the last, of all threads for the whole answer, and that, greedy. Of { ids } it writes { logprobs }: of each token but the first.

Needs the PyPI packages openvino-genai and openvino-tokenizers, 2026.4. They are tools of this measurement only.
"""

import json
import sys
import time

import numpy as np
import openvino as ov
import openvino_genai as genai


def open_pipeline(model, mode, threads, longest, threshold):
    scheduler = genai.SchedulerConfig()
    scheduler.cache_size = 2  # GiB
    scheduler.enable_prefix_caching = False
    scheduler.max_num_batched_tokens = longest + 64  # a prompt in one step: the sparse modes want it whole
    if mode != "dense":
        scheduler.use_sparse_attention = True
        scheduler.sparse_attention_config.mode = getattr(genai.SparseAttentionMode, mode.upper())
        if threshold:
            scheduler.sparse_attention_config.xattention_threshold = float(threshold)
    return genai.ContinuousBatchingPipeline(model, scheduler, "CPU", {"INFERENCE_NUM_THREADS": threads})


def run(pipeline, ids, **settings):
    """What came of the ids, and the seconds to the first token."""
    config = genai.GenerationConfig(do_sample=False, ignore_eos=True, **settings)
    start = time.perf_counter()
    handle = pipeline.add_request(0, ov.Tensor(np.array([ids], dtype=np.int64)), config)
    pipeline.step()
    seconds = time.perf_counter() - start
    while pipeline.has_non_finished_requests():
        pipeline.step()
    return handle.read_all()[0], seconds


def answer(pipeline, ids, predict):
    start, before = time.perf_counter(), time.process_time()
    output, seconds = run(pipeline, ids, max_new_tokens=predict)
    cpu, whole = time.process_time() - before, time.perf_counter() - start
    return {"seconds": seconds, "whole": whole, "cpu": cpu, "tokens": output.generated_ids}


def logprobs(pipeline, ids):
    output, _ = run(pipeline, ids, max_new_tokens=1, echo=True, logprobs=1)
    return {"logprobs": output.generated_log_probs[1 : len(ids)]}


def main():
    model, mode, threads, longest, *threshold = sys.argv[1:]
    pipeline = open_pipeline(model, mode, int(threads), int(longest), *threshold or [None])
    print("ready", flush=True)
    for line in sys.stdin:
        prompt = json.loads(line)
        print(json.dumps((answer if "predict" in prompt else logprobs)(pipeline, **prompt)), flush=True)


if __name__ == "__main__":
    main()
