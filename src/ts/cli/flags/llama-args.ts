// What llama.cpp's command line (common/arg.cpp) has and ours has not, and why: the hint for it, docs/flags.md, and the
// test that every argument of the pin is classed.

interface Absent {
  why: string
  names: string
}

/** The reason of those that `serve` has, and no other command. */
export const onlyServe = 'a flag of h2o-prefill serve'

// biome-ignore format: a table
export const absent: readonly Absent[] = [
  { why: 'h2o-prefill --help has them all', names: '--usage --completion-bash' },
  { why: 'models are local files: h2o-prefill model fetches one, and -m takes its path',
    names: `-cl --cache-list -mu --model-url -dr --docker-repo -hf -hfr --hf-repo -hff --hf-file -hft --hf-token --mtp --dflash --eagle3` },
  { why: "logs go to stderr: requests in serve, and llama.cpp's with -v",
    names: `--log-file --log-jsonl --no-log-jsonl --log-prompts-dir --log-colors -lv --verbosity --log-verbosity --log-prefix
      --no-log-prefix --log-timestamps --no-log-timestamps --verbose-prompt -ptc --print-token-count --perf --show-timings
      --no-show-timings` },
  { why: 'the text goes to stdout as it is, and nothing else does', names: '--display-prompt -co --color -sp --special' },
  { why: 'set the affinity or the priority of the process: taskset, nice, numactl',
    names: `-C --cpu-mask -Cr --cpu-range --cpu-strict --prio --poll -Cb --cpu-mask-batch -Crb --cpu-range-batch --cpu-strict-batch
      --prio-batch --poll-batch --numa` },
  { why: 'there is no dialogue on a terminal: use the library, or one message with -cnv',
    names: `-i --interactive -if --interactive-first -mli --multiline-input --in-prefix-bos --in-prefix --in-suffix --server-base` },
  { why: 'give the text itself: -sys TEXT, -p TEXT, -f FILE', names: '-sysf --system-prompt-file --in-file -bf --binary-file --context-file' },
  { why: 'templates are always Jinja; in `run`, what the model thinks is part of its text, and `serve` takes `reasoning_format` and `chat_template_kwargs` per request',
    names: `--no-jinja --reasoning-format -rea --reasoning --reasoning-effort --reasoning-budget --reasoning-budget-message
      --reasoning-preserve --no-reasoning-preserve --skip-chat-parsing --no-skip-chat-parsing --chat-template-kwargs` },
  { why: 'a prompt that does not fit is an error: raise -c', names: '--keep --context-shift -gan --grp-attn-n -gaw --grp-attn-w' },
  { why: 'a cache needs no tuning, and each slot of serve has its own; questions to one document share it in the library: kvUnified',
    names: '-dt --defrag-thold -kvu --kv-unified -no-kvu --no-kv-unified --kv-unified-per-slot' },
  { why: 'left as llama.cpp has it by default',
    names: '--repack -nr --no-repack --no-host --op-offload --no-op-offload -lzm --lazy-mode --check-tensors -bs --backend-sampling' },
  { why: 'give -ngl, -c and -b; h2o-prefill doctor says what fits', names: '-fitp --fit-print -fitt --fit-target -fitc --fit-ctx' },
  { why: 'adapters are LoRA alone: --lora', names: '--control-vector --control-vector-scaled --control-vector-layer-range' },
  { why: 'prompts are text',
    names: `-mm --mmproj -mmu --mmproj-url --mmproj-auto --mmproj-offload --no-mmproj-offload -mmdev --mmproj-device
      --image --audio --video --image-min-tokens --image-max-tokens --mtmd-batch-max-tokens --video-fps
      --video-timestamp-interval --video-ffmpeg-dir` },
  { why: 'there is no draft model: --spec-type ngram-simple drafts from the text, with sizes of its own',
    names: `-lcs --lookup-cache-static -lcd --lookup-cache-dynamic --spec-draft-hf -hfd -hfrd --hf-repo-draft --spec-draft-threads -td
      --threads-draft --spec-draft-threads-batch -tbd --threads-batch-draft --spec-draft-cpu-mask -Cd --cpu-mask-draft
      --spec-draft-cpu-range -Crd --cpu-range-draft --spec-draft-cpu-strict --cpu-strict-draft --spec-draft-prio --prio-draft
      --spec-draft-poll --poll-draft --spec-draft-cpu-mask-batch -Cbd --cpu-mask-batch-draft --spec-draft-cpu-range-batch -Crbd
      --cpu-range-batch-draft --spec-draft-cpu-strict-batch --cpu-strict-batch-draft --spec-draft-prio-batch --prio-batch-draft
      --spec-draft-poll-batch --poll-batch-draft --spec-draft-type-k -ctkd --cache-type-k-draft --spec-draft-type-v -ctvd
      --cache-type-v-draft --spec-draft-override-tensor -otd --override-tensor-draft --spec-draft-cpu-moe -cmoed
      --cpu-moe-draft --spec-draft-n-cpu-moe --spec-draft-ncmoe -ncmoed --n-cpu-moe-draft --spec-draft-n-max --spec-draft-n-min
      --spec-synth-len --spec-synth-rates --spec-draft-p-split --draft-p-split --spec-draft-p-min --draft-p-min
      --spec-draft-backend-sampling --no-spec-draft-backend-sampling --spec-draft-device -devd --device-draft --spec-draft-ngl
      -ngld --gpu-layers-draft --n-gpu-layers-draft --spec-draft-model -md --model-draft --spec-ngram-mod-n-min
      --spec-ngram-mod-n-max --spec-ngram-mod-n-match --spec-ngram-simple-size-n --spec-ngram-simple-size-m
      --spec-ngram-simple-min-hits --spec-ngram-map-k-size-n --spec-ngram-map-k-size-m --spec-ngram-map-k-min-hits
      --spec-ngram-map-k4v-size-n --spec-ngram-map-k4v-size-m --spec-ngram-map-k4v-min-hits --draft --draft-n --draft-max
      --draft-min --draft-n-min --spec-ngram-size-n --spec-ngram-size-m --spec-ngram-min-hits --spec-default` },
  { why: onlyServe,
    names: `-np --parallel -cb --cont-batching -nocb --no-cont-batching -a --alias --host --port --cors-origins --ui --webui --no-ui --no-webui --api-key --api-key-file -to --timeout --metrics
      -cram --cache-ram --slots --prefill-assistant --no-prefill-assistant` },
  { why: 'of llama-server; h2o-prefill serve has nothing of the kind',
    names: `-ctxcp --ctx-checkpoints --swa-checkpoints -cms --checkpoint-min-step --cache-idle-slots
      --no-cache-idle-slots --spm-infill --tags --reuse-port --path
      --cors-methods --cors-headers --cors-credentials --no-cors-credentials --api-prefix --ui-config --webui-config
      --ui-config-file --webui-config-file --ui-mcp-proxy --webui-mcp-proxy --no-ui-mcp-proxy --no-webui-mcp-proxy
      --tools --tools-runtime --mcp-servers-config --mcp-servers-json -ag --agent -no-ag --no-agent
      --rerank --reranking --ssl-key-file --ssl-cert-file --sse-ping-interval --threads-http --cache-prompt
      --no-cache-prompt --cache-reuse --props --no-slots --slot-save-path --media-path --models-dir
      --models-preset --models-max --models-autoload --no-models-autoload
      -sps --slot-prompt-similarity --lora-init-without-apply --sleep-idle-seconds --embd-gemma-default
      --fim-qwen-1.5b-default --fim-qwen-3b-default --fim-qwen-7b-default --fim-qwen-7b-spec --fim-qwen-14b-spec
      --fim-qwen-30b-default --gpt-oss-20b-default --gpt-oss-120b-default --vision-gemma-4b-default
      --vision-gemma-12b-default` },
  { why: 'embeddings are not computed', names: '--pooling --attention --embedding --embeddings --embd-normalize --embd-output-format --embd-separator --cls-separator' },
  { why: 'a flag of h2o-prefill compare and parity', names: '--chunks --save-all-logits --kl-divergence-base' },
  { why: 'h2o-prefill compare prints perplexity and KL divergence of a text, and needs no flag for it',
    names: `--hellaswag --hellaswag-tasks --winogrande --winogrande-tasks --multiple-choice --multiple-choice-tasks
      --kl-divergence --ppl-stride --ppl-output-type --ppl --no-ppl` },
  { why: 'h2o-prefill bench measures speed: its -p, -n and -r take their place', names: '-ns --sequences -pps -tgs -npp -ntg -npl --output-format' },
  { why: "of llama.cpp's other tools",
    names: `-o --output --output-file -ofreq --output-frequency --save-frequency --process-output --chunk --from-chunk
      --show-statistics --parse-special --chunk-size --chunk-separator --junk --pos --ids --stdin --no-bos --no-parse-special
      --show-count --positive-file --negative-file --pca-batch --pca-iter --method --tts-lang --tts-speaker-file
      --diffusion-steps --diffusion-visual --diffusion-eps --diffusion-algorithm --diffusion-alg-temp --diffusion-block-length
      --diffusion-cfg-scale --diffusion-add-gumbel-noise -lr --learning-rate -lr-min --learning-rate-min -decay-epochs
      --learning-rate-decay-epochs -wd --weight-decay -val-split --val-split -epochs --epochs -opt --optimizer --check
      --save-logits --logits-output-dir --tensor-filter` },
]

export const namesIn = (text: string): string[] => text.split(/\s+/)

const reasons = new Map(
  absent.flatMap(({ why, names }) => namesIn(names).map((name) => [name, why] as const)),
)

/** Why an argument of llama.cpp is not here, and what is in its place; undefined if it has none by that name. */
export const absentReason = (name: string): string | undefined => reasons.get(name)
