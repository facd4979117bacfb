// The one line of shell that fetches a model which is in no package: by the tool of the hub, or curl.

const HUB = /^([\w.-]+\/[\w.-]+)(?::([\w.-]+)|\/([\w./-]+\.gguf))?$/

/**
 * @param {string} what OWNER/REPO, OWNER/REPO:QUANT as llama.cpp's -hf takes it, OWNER/REPO/FILE.gguf, or an address
 * @param {string} folder where the file goes
 * @returns {string | undefined} undefined for what is none of these
 */
export function downloadLine(what, folder) {
  if (/^https?:/.test(what) && URL.canParse(what)) return byCurl(new URL(what), folder)
  const [, repo, quant, file] = HUB.exec(what) ?? []
  if (repo === undefined) return undefined
  const files = file ?? `--include ${quoted(quant === undefined ? '*.gguf' : `*${quant}*.gguf`)}`
  return `pip install huggingface_hub && hf download ${repo} ${files} --local-dir ${quoted(folder)}`
}

function byCurl(address, folder) {
  const file = address.pathname.split('/').at(-1)
  if (file === '') return undefined
  return `curl -fL --create-dirs -o ${quoted(`${folder}/${file}`)} ${quoted(address.href)}`
}

/** As one word of a POSIX shell. */
function quoted(text) {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
