// Running saved calls, and comparing their answers with what is expected.
import { signal } from '@preact/signals'
import { failureOf, loadBody } from './api'
import * as json from './json'
import { type Expectation, type Saved, saved, sourceOf } from './saved'
import { call, say } from './store'
import type { Call } from './types'

type Value = json.Value

/** Verdict is how a saved call went. */
export interface Verdict {
  state: 'running' | 'pass' | 'fail'
  call?: number
  took?: number
  /** What was not as expected. */
  faults: string[]
}

export const verdicts = signal<ReadonlyMap<string, Verdict>>(new Map())

const judge = (name: string, verdict: Verdict): void => {
  verdicts.value = new Map(verdicts.value).set(name, verdict)
}

/** run sends a saved call and compares the answer with what is expected. */
export async function run(s: Saved): Promise<Verdict> {
  const source = sourceOf(s)
  let verdict: Verdict = { state: 'running', faults: [] }
  judge(s.name, verdict)
  try {
    if (source === undefined) throw new Error(`no source is named ${s.source}`)
    const { id, ended } = await call({ source, method: s.method, params: s.params, sendAnyway: true })
    judge(s.name, { ...verdict, call: id })
    const done = await ended
    const body = done.answer ? await loadBody(done.answer, true) : undefined
    const faults = faultsOf(s, done, body?.text)
    verdict = { state: faults.length ? 'fail' : 'pass', call: id, faults }
    if (done.took !== undefined) verdict.took = done.took
  } catch (error) {
    verdict = { state: 'fail', faults: [failureOf(error).text] }
  }
  judge(s.name, verdict)
  return verdict
}

/** runningAll reports whether all saved calls are being sent. */
export const runningAll = signal(false)

/** runAll sends all saved calls, one after the other. */
export async function runAll(): Promise<void> {
  if (runningAll.value) return
  runningAll.value = true
  let failed = 0
  const list = saved.value
  try {
    for (const s of list) if ((await run(s)).state === 'fail') failed++
  } finally {
    runningAll.value = false
  }
  say(`${list.length - failed} passed, ${failed} failed`)
}

// faultsOf returns what in an answer is not as expected.
export function faultsOf(s: Saved, done: Call, text: string | undefined): string[] {
  const root = text === undefined ? undefined : json.parse(text)
  const result = json.at(root, ['result'])
  const code = json.at(root, ['error', 'code'])
  const faults: string[] = []
  const wanted = (does: Expectation['does']) => s.expect.find((e) => e.does === does)
  const isError = done.isError === true
  if (!root) return [done.error?.text ?? `the call was ${done.state}`]
  if (code && !wanted('error')) faults.push(done.error?.text ?? `error ${json.compact(code)}`)
  if (isError && !wanted('isError')) faults.push('the tool answers with an error')
  for (const e of s.expect) {
    const fault = faultOf(e, result, code, isError, done.took)
    if (fault) faults.push(fault)
  }
  return faults
}

function faultOf(e: Expectation, result: Value | undefined, code: Value | undefined, isError: boolean, took = 0): string {
  const value = json.parse(e.value)
  const short = (v: Value | undefined) => (v ? json.compact(v).slice(0, 200) : 'absent')
  const where = e.pointer || 'the result'
  const found = json.at(result, pathOf(e.pointer, result))
  switch (e.does) {
    case 'error':
      return code && same(code, value) ? '' : `error ${short(value)} expected, got ${code ? short(code) : 'a result'}`
    case 'isError':
      return String(isError) === e.value ? '' : `isError ${e.value} expected, got ${isError}`
    case 'below':
      return took < nanoseconds(value.t === 'string' ? value.text : '') ? '' : `took ${(took / 1e6).toFixed(1)} ms`
    case 'exists':
      return String(found !== undefined) === e.value ? '' : `${where} ${found ? 'exists' : 'is absent'}`
    case 'contains':
      return found?.t === 'string' && value.t === 'string' && found.text.includes(value.text)
        ? ''
        : `${where} does not contain ${short(value)}: ${short(found)}`
    default:
      return found && same(found, value) ? '' : `${where} is ${short(found)}, expected ${short(value)}`
  }
}

const units: Record<string, number> = { ns: 1, us: 1e3, 'µs': 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 }

// nanoseconds returns the length of a duration such as 200ms or 1m30s; Infinity if it is none.
function nanoseconds(text: string): number {
  let total = 0
  const rest = text.replace(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g, (_, n: string, unit: string) => {
    total += Number(n) * units[unit]!
    return ''
  })
  return text && !rest ? total : Infinity
}

/** pathOf returns the keys of a JSON Pointer; those of arrays are numbers. */
export function pathOf(pointer: string, root: Value | undefined): json.Path {
  const path: json.Path = []
  for (const part of pointer.split('/').slice(1)) {
    const key = part.replace(/~1/g, '/').replace(/~0/g, '~')
    path.push(json.at(root, path)?.t === 'array' ? Number(key) : key)
  }
  return path
}

/** same reports whether two values are equal as JSON. */
export function same(a: Value, b: Value): boolean {
  if (a.t === 'object' && b.t === 'object') {
    if (a.members.length !== b.members.length) return false
    const others = new Map(b.members)
    return a.members.every(([key, value]) => {
      const other = others.get(key)
      return other !== undefined && same(value, other)
    })
  }
  if (a.t === 'array' && b.t === 'array') {
    return a.items.length === b.items.length && a.items.every((item, i) => same(item, b.items[i]!))
  }
  if (a.t === 'string' || b.t === 'string') return a.t === b.t && a.t === 'string' && b.t === 'string' && a.text === b.text
  if (a.t !== 'raw' || b.t !== 'raw') return false
  if (a.text === b.text) return true
  if (!json.isNumber(a.text) || !json.isNumber(b.text)) return false
  const isInteger = (t: string) => /^-?\d+$/.test(t)
  return !(isInteger(a.text) && isInteger(b.text)) && Number(a.text) === Number(b.text)
}
