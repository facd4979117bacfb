// The verdicts as a JUnit report, which CI services show: one test case per tolerance.
import { escapeHtml } from '../inspect/escape.js'
import type { ParityReport } from './report.js'

export function toJunit({ model, verdicts, elapsedMs }: ParityReport): string {
  const failures = verdicts.filter(({ ok }) => !ok).length
  const time = (elapsedMs / 1000).toFixed(3)
  const counts = `tests="${verdicts.length}" failures="${failures}" errors="0" time="${time}"`
  const cases = verdicts.map(({ name, mode, message, ok }) => {
    const head = `    <testcase classname="${escapeXml(`parity.${model}`)}" name="${mode} ${name}"`
    return ok ? `${head}/>` : `${head}>\n      <failure message="${escapeXml(message)}"/>\n    </testcase>`
  })
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="h2o-prefill parity" ${counts}>`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they may not stand in XML, not even escaped
const escapeXml = (text: string) => escapeHtml(text).replace(/[\0-\x1f\x7f\ufffe\uffff]/g, ' ')
