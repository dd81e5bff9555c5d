// Sizes, durations and times as text.

const grouped = new Intl.NumberFormat('en-US')

export const count = (n: number): string => grouped.format(n)

/** plural returns a number with its noun: 1 tool, 1,000 tools. */
export const plural = (n: number, noun: string): string => `${count(n)} ${noun}${n === 1 ? '' : 's'}`

/** bytes returns a size in units of 1,000, with three digits. */
export function bytes(n: number | undefined): string {
  if (n === undefined) return ''
  if (n < 1000) return `${n} B`
  for (const unit of ['kB', 'MB', 'GB']) {
    n /= 1000
    if (n < 999.5 || unit === 'GB') return `${n < 9.95 ? n.toFixed(1) : n.toFixed(0)} ${unit}`
  }
  return ''
}

/** duration returns nanoseconds in the unit that fits. */
export function duration(ns: number | undefined): string {
  if (ns === undefined) return ''
  const ms = ns / 1e6
  if (ms < 0.01) return `${(ns / 1e3).toFixed(1)} µs`
  if (ms < 10) return `${ms.toFixed(2)} ms`
  if (ms < 1000) return `${ms.toFixed(1)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(2)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
}

/** clock returns running seconds: 00:02.1. */
export function clock(ms: number): string {
  const s = Math.max(0, ms) / 1000
  const minutes = Math.floor(s / 60)
  return `${String(minutes).padStart(2, '0')}:${(s - minutes * 60).toFixed(1).padStart(4, '0')}`
}

/** timeOfDay returns the local time of nanoseconds since 1970, with milliseconds. */
export function timeOfDay(ns: number): string {
  const d = new Date(ns / 1e6)
  const two = (n: number) => String(n).padStart(2, '0')
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}.${String(d.getMilliseconds()).padStart(3, '0')}`
}

/** tokens returns an estimate of what a text costs a model. */
export const tokens = (n: number | undefined): string => (n === undefined ? '' : `≈ ${count(n)} tokens`)

/** oneLine returns a text without line breaks, cut to a length. */
export function oneLine(text: string, max = 300): string {
  return text.slice(0, max).replace(/\s+/g, ' ')
}
