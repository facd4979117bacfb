import { borders } from '../borders.js'

/**
 * Where a text stands last in another one. As `text.lastIndexOf(part)`, whose time grows with the product of both
 * lengths for a part that nearly fits everywhere. This is Knuth, Morris and Pratt's search, from the end.
 */
export function lastIndex(text: string, part: string): number {
  const n = part.length
  if (n === 0 || n > text.length) return n === 0 ? text.length : -1
  const last = n - 1
  const border = borders(n, (i) => part.charCodeAt(last - i))
  for (let at = text.length - 1, k = 0; at >= 0; at--) {
    while (k > 0 && text.charCodeAt(at) !== part.charCodeAt(last - k)) k = border[k - 1] as number
    if (text.charCodeAt(at) === part.charCodeAt(last - k)) k++
    if (k === n) return at
  }
  return -1
}
