// What the mutator of command lines draws: flags by the commands that know them, and what each may be given.

/** Mostly a value that is taken, now and then one that is not. */
const often = (usual, odd) => (draw) => draw.pick(draw.chance(0.85) ? usual : odd)
const count = often(
  ['0', '1', '7', '16', '64', '100', '512'],
  ['-1', '4294967295', '1e3', 'x', '', '3.5', '99999999'],
)
const real = often(['0', '0.5', '0.9', '1'], ['-1', '2', 'NaN', '1e30', 'x', ''])
const type = often(['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'iq4_nl', 'q5_0', 'q5_1'], ['q2_k', ''])
const none = () => undefined

const each = (names, value) => Object.fromEntries(names.split(' ').map((name) => [`--${name}`, value]))
const nested = (open, inner, close, n = 30_000) => open.repeat(n) + inner + close.repeat(n)

/** Files that are there where commands run; those that begin with `none` are not. */
const ADAPTERS = ['whole.lora', 'whole.lora', 'broken.lora', 'none.lora', 'whole.lora,whole.lora', '', '"']

/** What run, compare and inspect know; the counts that fit are drawn more often. */
export const COMMON = {
  '-c': (draw) => draw.pick(['256', '400', '1024', count(draw)]),
  '-b': (draw) => draw.pick(['64', '128', '512', count(draw)]),
  '-ub': (draw) => draw.pick(['16', '32', '64', count(draw)]),
  '-ngl': (draw) => draw.pick(['0', 'auto', 'all', count(draw)]),
  '-fa': often(['on', 'off', 'auto'], ['maybe']),
  '-ctk': type,
  '-ctv': type,
  '--h2o-local': (draw) => draw.pick(['8', '16', count(draw)]),
  '--h2o-heavy': (draw) => draw.pick(['8', '16', count(draw)]),
  '--h2o-schedule': often(['single-pass', 'two-pass'], ['three-pass']),
  '--h2o-select': often(['query', 'votes'], ['all', '']),
  '--h2o-dense-tail': count,
  '--h2o-decode': (draw) => draw.pick(['0', '1', '8', 'auto', 'all', count(draw)]),
  ...each('mlock no-mmap json', none),
}

/** What run and inspect know. */
export const MODEL = {
  '-dev': often(['none'], ['CPU', 'CUDA0', 'none,none', ',', '']),
  '-sm': often(['none', 'layer', 'row', 'tensor'], ['x', '']),
  '-ts': often(['1', '3,1', '0', '0,0'], ['-1', '1,'.repeat(300), 'NaN', '1e30', ',']),
  '-mg': count,
  '-lm': often(['auto', 'none', 'mmap', 'mlock', 'mmap+mlock', 'dio'], ['x', '']),
  '-cmoe': none,
  '-ncmoe': count,
  '-ncffn': count,
  '-nkvo': none,
  '-ot': often(
    ['attn_q=CPU', 'blk\\.[01]\\.=CPU', '.*=CPU', '^token_embd=CPU,output=CPU'],
    [
      ...['(=CPU', '[z-a]=CPU', '(a)\\1=CPU', 'a=CUDA7', '=CPU', 'a=', '((.*)*)*x=CPU', 'a{99999}{99}=CPU'],
      `${nested('(', '', ')')}=CPU`,
      `${nested('', 'a', '|a')}=CPU`,
    ],
  ),
  '--override-kv': often(
    [
      ...['llama.context_length=int:4096', 'llama.rope.freq_base=float:1e6', 'general.name=str:x'],
      'my.own=bool:true',
    ],
    [
      ...['llama.block_count=int:0', 'llama.block_count=int:4294967295', 'llama.attention.head_count=int:3'],
      ...['llama.rope.freq_base=float:0', 'llama.attention.layer_norm_rms_epsilon=float:-1', '=int:1', 'x'],
      ...['llama.embedding_length=int:-1', 'llama.rope.scaling.type=str:x', 'llama.context_length=str:x'],
      ...['llama.expert_count=int:9', 'llama.vocab_size=int:7', `general.name=str:${'x'.repeat(999)}`],
      ...['general.architecture=str:qwen2', 'tokenizer.ggml.model=str:bert', `${'k'.repeat(200)}=int:1`],
    ],
  ),
  '--lora': (draw) => draw.pick(ADAPTERS),
  '--lora-scaled': (draw) =>
    `${draw.pick(ADAPTERS)}${draw.pick([':0', ':1', ':1', ':-1000', ':NaN', ':', ''])}`,
  '--prompt-cache': often(['whole.cache', 'new.cache'], ['broken.lora', '.', 'none/prompt.cache', '']),
  ...each('prompt-cache-all prompt-cache-ro swa-full', none),
  '--rope-scaling': often(['none', 'linear', 'yarn'], ['x']),
  ...each('yarn-orig-ctx', count),
  ...each('rope-scale rope-freq-base rope-freq-scale yarn-ext-factor yarn-attn-factor', real),
  ...each('yarn-beta-slow yarn-beta-fast', real),
}

/** What only run knows. */
export const SAMPLING = {
  '-n': often(['0', '1', '8', '16'], ['x', '1.5']), // -1 and -2 fill the context: long, and no hang
  '-s': count,
  '--grammar': often(
    ['root ::= [a-z ]+', 'root ::= "x" root | "y"'],
    [
      ...['root ::= root', 'a ::= "x"', 'root ::= (', 'root ::= "x"{999999}', ''],
      `root ::= ${nested('(', '"x"', ')')}`,
    ],
  ),
  '--json-schema': often(
    ['{}', '{"type":"integer"}', '{"enum":["a",1]}'],
    ['{"$ref":"#"}', '{', '7', nested('{"items":', '{}', '}', 9999), '{"pattern":"^(a"}', ''],
  ),
  ...each('grammar-file json-schema-file', often(['whole.gbnf'], ['whole.lora', '.', 'none'])),
  '--samplers': often(
    ['top_k', 'penalties;dry;temperature', 'min_p;min_p;xtc', 'infill;adaptive_p', ''],
    ['x;y', ';'],
  ),
  '--sampler-seq': often(['edskypmxt', 'kt', ''], ['zzz', 'k'.repeat(999)]),
  '--logit-bias': often(['65+1', '65-inf', '258-1e6'], ['99999+1', '-1+1', '65+NaN', '65', '']),
  '--dry-sequence-breaker': often(['none', 'x', '\\n'], ['', 'x'.repeat(999)]),
  ...each('top-k mirostat repeat-last-n dry-allowed-length dry-penalty-last-n', count),
  ...each('temp top-p min-p repeat-penalty presence-penalty frequency-penalty dry-multiplier dry-base', real),
  ...each('top-nsigma typical xtc-probability xtc-threshold dynatemp-range dynatemp-exp', real),
  ...each('mirostat-lr mirostat-ent adaptive-target adaptive-decay', real),
  '-r': often(['x', 'world'], ['', 'x'.repeat(999)]),
  ...each('ignore-eos no-h2o no-escape verbose', none),
}
