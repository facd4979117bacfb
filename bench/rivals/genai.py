"""A GGUF in OpenVINO GenAI, one prompt after another: what `bench/rivals/run.mjs` sets beside h2o-llama.

usage: genai.py MODEL MODE THREADS LONGEST    (MODE: dense, xattention, trishape; LONGEST: tokens of the longest prompt)

Writes `ready`, then reads JSON lines { ids, predict }. Writes for each { seconds, cpu, tokens }: to the first token, of all threads for the whole answer, and that, greedy.

Needs the PyPI packages openvino-genai and openvino-tokenizers, 2026.4. They are tools of this measurement only.
"""

import json
import sys
import time

import numpy as np
import openvino as ov
import openvino_genai as genai


def open_pipeline(model, mode, threads, longest):
    scheduler = genai.SchedulerConfig()
    scheduler.cache_size = 2  # GiB
    scheduler.enable_prefix_caching = False
    scheduler.max_num_batched_tokens = longest + 64  # a prompt in one step: the sparse modes want it whole
    if mode != "dense":
        scheduler.use_sparse_attention = True
        scheduler.sparse_attention_config.mode = getattr(genai.SparseAttentionMode, mode.upper())
    return genai.LLMPipeline(model, "CPU", scheduler_config=scheduler, INFERENCE_NUM_THREADS=threads)


def main():
    model, mode, threads, longest = sys.argv[1:]
    pipeline = open_pipeline(model, mode, int(threads), int(longest))
    print("ready", flush=True)
    for line in sys.stdin:
        prompt = json.loads(line)
        config = genai.GenerationConfig(max_new_tokens=prompt["predict"], do_sample=False, ignore_eos=True)
        before = time.process_time()
        result = pipeline.generate(ov.Tensor(np.array([prompt["ids"]], dtype=np.int64)), config)
        answer = {
            "seconds": result.perf_metrics.get_ttft().mean / 1000,
            "cpu": time.process_time() - before,
            "tokens": list(result.tokens[0]),
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
