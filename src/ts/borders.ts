/**
 * Of each beginning of a part of `n` characters, the length of the longest shorter one that it ends with too: the table of
 * Knuth, Morris and Pratt's search, whose time does not grow with the product of text and part.
 */
export function borders(n: number, at: (i: number) => number): Int32Array {
  const border = new Int32Array(n)
  for (let i = 1, k = 0; i < n; i++) {
    while (k > 0 && at(i) !== at(k)) k = border[k - 1] as number
    if (at(i) === at(k)) k++
    border[i] = k
  }
  return border
}
