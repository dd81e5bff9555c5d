// Saved calls: a JSON file that was named when the program started, or a list that lasts as long
// as the page. The text is edited as a tree, so numbers keep their digits and members that this
// page does not know stay.
import { computed, effect, signal } from '@preact/signals'
import { ApiError, failureOf, post, request } from './api'
import * as json from './json'
import { catalogs, savedFile, savedTag, say, sources } from './store'
import type { Failure } from './types'

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
  /** The saved call as JSON text, with members that this page does not know. */
  text: string
}

/** comparisons are the members of which an expectation has one. */
export const comparisons = ['equals', 'contains', 'matches', 'schema', 'exists', 'error', 'isError', 'below'] as const

export interface Expectation {
  pointer: string
  does: (typeof comparisons)[number]
  /** JSON text. */
  value: string
  /** The expectation in the file, if it is there and cannot be shown. */
  unknown?: Value
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
    text: json.compact(v),
  }
}

function expectationOf(v: Value): Expectation {
  const pointer = textAt(v, 'pointer')
  for (const does of comparisons) {
    const value = json.at(v, [does])
    if (value) return { pointer, does, value: json.compact(value) }
  }
  return { pointer, does: 'equals', value: json.compact(v), unknown: v }
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
    file.value = text.trim() ? json.parse(text) : empty
    tag = response.headers.get('ETag') ?? '' // of what the page has: a file that it cannot read is not replaced
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

const expectValue = (list: Expectation[]): Value => ({
  t: 'array',
  items: list.map((e): Value => {
    if (e.unknown) return e.unknown
    const members: [string, Value][] = []
    if (e.does !== 'error' && e.does !== 'isError' && e.does !== 'below') members.push(['pointer', json.stringValue(e.pointer)])
    members.push([e.does, json.parse(e.value)])
    return { t: 'object', members }
  }),
})

export const setExpectations = (name: string, list: Expectation[]): Promise<void> =>
  edit(name, 'expect', list.length ? expectValue(list) : undefined)

/** mistakeIn returns what is wrong with an expectation in a list, or ''. slipway test would refuse the whole file. */
export async function mistakeIn(s: Saved, list: Expectation[], index: number): Promise<string> {
  const body = json.compact(json.set(json.parse(s.text), ['expect'], expectValue(list))!)
  const { problems } = await post<{ problems: { pointer: string; message: string }[] }>('verify', `{"saved":${body}}`)
  return problems.find((p) => `${p.pointer}/`.startsWith(`/expect/${index}/`))?.message ?? ''
}

/** fileText returns the file as text. */
export const fileText = (): string => json.print(file.value) + '\n'

/** sourceOf returns the source that a saved call goes to: the only one, or the one that it names. */
export function sourceOf(s: Saved): number | undefined {
  const all = sources.value
  return (all.length === 1 ? all[0] : all.find((t) => t.name === s.source))?.id
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
