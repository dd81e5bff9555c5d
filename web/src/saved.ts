// Saved calls: a JSON file that was named when the program started, or a list that lasts as long
// as the page. The text is edited as a tree, so numbers keep their digits and members that this
// page does not know stay.
import { computed, effect, signal } from '@preact/signals'
import { ApiError, failureOf, loadBody, request } from './api'
import * as json from './json'
import { call, catalogs, savedFile, savedTag, say, sources } from './store'
import type { Call, Failure } from './types'

type Value = json.Value

/** Saved is a call in the file. */
export interface Saved {
  name: string
  source: string
  method: string
  /** JSON text. */
  params: string
  star: boolean
  expect: Expectation[]
}

export interface Expectation {
  pointer: string
  does: 'equals' | 'contains' | 'exists' | 'error' | 'isError' | 'below'
  /** JSON text. */
  value: string
}

const empty: Value = { t: 'object', members: [['calls', { t: 'array', items: [] }]] }
const file = signal<Value>(empty)
let tag = ''

export const savedProblem = signal<Failure | undefined>(undefined)

const textAt = (v: Value, name: string): string => {
  const found = json.at(v, [name])
  return found?.t === 'string' ? found.text : ''
}

function savedOf(v: Value): Saved {
  const params = json.at(v, ['params'])
  const star = json.at(v, ['star'])
  const list = json.at(v, ['expect'])
  return {
    name: textAt(v, 'name'),
    source: textAt(v, 'source'),
    method: textAt(v, 'method') || 'tools/call',
    params: params ? json.compact(params) : '{}',
    star: star?.t === 'raw' && star.text === 'true',
    expect: list?.t === 'array' ? list.items.map(expectationOf) : [],
  }
}

function expectationOf(v: Value): Expectation {
  const pointer = textAt(v, 'pointer')
  for (const does of ['equals', 'contains', 'exists', 'error', 'isError', 'below'] as const) {
    const value = json.at(v, [does])
    if (value) return { pointer, does, value: json.compact(value) }
  }
  return { pointer, does: 'exists', value: 'true' }
}

const items = (v: Value): Value[] => {
  const list = json.at(v, ['calls'])
  return list?.t === 'array' ? list.items : []
}

export const saved = computed(() => items(file.value).map(savedOf))

/** loadSaved reads the file, if one was named. */
export async function loadSaved(): Promise<void> {
  if (!savedFile.value) return
  try {
    const response = await request('calls')
    const text = await response.text()
    tag = response.headers.get('ETag') ?? ''
    file.value = text.trim() ? json.parse(text) : empty
    savedProblem.value = undefined
  } catch (error) {
    savedProblem.value = failureOf(error)
  }
}

effect(() => {
  savedTag.value
  if (savedFile.value && (!savedTag.value || savedTag.value !== tag)) void loadSaved()
})

// change applies a change to the list and writes the file. If the file has changed meanwhile, it
// is read again and the change applied to that.
async function change(edit: (list: Value[]) => Value[]): Promise<boolean> {
  for (let attempt = 0; ; attempt++) {
    const next = json.set(file.value, ['calls'], { t: 'array', items: edit(items(file.value)) })!
    if (!savedFile.value) {
      file.value = next
      return true
    }
    try {
      const headers: Record<string, string> = tag ? { 'If-Match': tag } : {}
      const response = await request('calls', { method: 'PUT', body: json.print(next) + '\n', headers })
      tag = response.headers.get('ETag') ?? ''
      file.value = next
      savedProblem.value = undefined
      return true
    } catch (error) {
      if (error instanceof ApiError && error.http === 412 && attempt === 0) {
        await loadSaved()
        continue
      }
      savedProblem.value = failureOf(error)
      say(savedProblem.value.text)
      return false
    }
  }
}

const nameOf = (v: Value): string => textAt(v, 'name')

/** freeName returns a name that no saved call has. */
export function freeName(name: string): string {
  const taken = new Set(saved.value.map((s) => s.name))
  let free = name
  for (let i = 2; taken.has(free); i++) free = `${name} ${i}`
  return free
}

/** saveCall adds a call to the file, and returns its name. params is JSON text. */
export async function saveCall(source: number, method: string, params: string, name?: string): Promise<string> {
  const called = json.at(json.parse(params), [method === 'resources/read' ? 'uri' : 'name'])
  const free = freeName(name || (called?.t === 'string' ? called.text : method))
  const from = sources.value.find((s) => s.id === source)?.name
  const members: [string, Value][] = [['name', json.stringValue(free)]]
  if (from) members.push(['source', json.stringValue(from)])
  members.push(['method', json.stringValue(method)], ['params', json.parse(params)])
  const entry: Value = { t: 'object', members }
  if (await change((list) => [...list, entry])) say(`Saved as “${free}”`)
  return free
}

export async function removeSaved(name: string): Promise<void> {
  if (await change((list) => list.filter((v) => nameOf(v) !== name))) say(`Removed “${name}”`)
}

async function edit(name: string, path: string, value: Value | undefined): Promise<void> {
  await change((list) => list.map((v) => (nameOf(v) === name ? (json.set(v, [path], value) ?? v) : v)))
}

export const setStar = (name: string, on: boolean): Promise<void> =>
  edit(name, 'star', on ? { t: 'raw', text: 'true' } : undefined)

export async function rename(name: string, to: string): Promise<string> {
  if (!to || to === name) return name
  const free = freeName(to)
  await edit(name, 'name', json.stringValue(free))
  return free
}

export function setExpectations(name: string, list: Expectation[]): Promise<void> {
  const values = list.map((e): Value => {
    const members: [string, Value][] = []
    if (e.does !== 'error' && e.does !== 'isError' && e.does !== 'below') members.push(['pointer', json.stringValue(e.pointer)])
    members.push([e.does, json.parse(e.value)])
    return { t: 'object', members }
  })
  return edit(name, 'expect', values.length ? { t: 'array', items: values } : undefined)
}

/** fileText returns the file as text. */
export const fileText = (): string => json.print(file.value) + '\n'

/** sourceOf returns the source that a saved call goes to. */
export function sourceOf(s: Saved): number | undefined {
  const all = sources.value
  if (all.length === 1) return all[0]!.id
  return (s.source ? all.find((t) => t.name === s.source) : all[0])?.id
}

/** isDestructive reports whether a call may destroy something: a tool that does not deny it. */
export function isDestructive(source: number | undefined, method: string, name: string | undefined): boolean {
  if (method !== 'tools/call' || source === undefined) return false
  const tool = catalogs.value.get(source)?.tools.find((t) => t.name === name)
  return !tool || (!tool.readOnly && tool.destructive !== false)
}

/** toolOf returns the name in the params of a call. */
export function toolOf(s: Saved): string {
  const v = json.parse(s.params)
  return textAt(v, 'name') || textAt(v, 'uri')
}

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
