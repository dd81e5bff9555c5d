// History: the calls of this session, and those that were saved with what their answers must be.
import { effect, signal, useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { failureOf, get, loadBody, saveAs } from '../api'
import { count, duration, oneLine, plural, timeOfDay } from '../format'
import * as json from '../json'
import { useKeys } from '../keys'
import { address, param, room, setParams } from '../route'
import {
  type Expectation, fileText, isDestructive, mistakeIn, removeSaved, rename, type Saved, saveCall, saved, savedProblem, setExpectations,
  setStar, sourceOf, toolOf,
} from '../saved'
import { call, calls, callsVersion, framesBySeq, savedFile, source, sources } from '../store'
import type { Call, Failure, Frame } from '../types'
import { type Fault, run, runAll, runningAll, verdicts } from '../run'
import { CopyButton, Key, layout, Problem, Splitter } from '../ui/kit'
import { mayDestroy, useConsent } from '../ui/consent'
import { VirtualList } from '../ui/list'
import { Result, stateText } from '../ui/result'
import { addressOf, requestOf } from './frame'

/** Entry is a call of this session. */
interface Entry {
  seq: number // its request
  src: number
  method: string
  name: string
  ns: number
  took: number | undefined
  failed: string
  call: number
}

const entries = signal<Entry[]>([])
const loadProblem = signal<Failure | undefined>(undefined)
let timer = 0

// The calls of a session are the requests that a person caused; Go has all of them.
effect(() => {
  if (room.value !== 'h' && room.value !== 'cmp') return
  callsVersion.value
  clearTimeout(timer)
  timer = window.setTimeout(() => void load(), entries.peek().length ? 250 : 0)
})

async function load(): Promise<void> {
  try {
    const found = await get<{ frames: Frame[] }>('search?q=cause:user&limit=2000')
    const bySeq = new Map(found.frames.map((f) => [f.seq, f]))
    const list: Entry[] = []
    for (const f of found.frames) {
      if (f.kind !== 'request' || f.d === 'in') continue
      const answer = bySeq.get(f.pair ?? framesBySeq.get(f.seq)?.pair ?? 0) ?? found.frames.find((r) => r.kind === 'response' && r.pair === f.seq)
      remember(f, answer)
      const made = calls.get(f.call ?? 0)
      list.push({
        seq: f.seq,
        src: f.src,
        method: f.method ?? '',
        name: f.name ?? f.method ?? '',
        ns: f.ns,
        took: answer?.took,
        failed: failureIn(answer, made),
        call: f.call ?? 0,
      })
    }
    entries.value = list.reverse()
    loadProblem.value = undefined
  } catch (error) {
    loadProblem.value = failureOf(error)
  }
}

// failureIn returns why a call has no result, 'running', or ''. A cancellation does not say why; the call does.
function failureIn(answer: Frame | undefined, made: Call | undefined): string {
  if (answer && !(made && answer.kind === 'notification')) return answer.err?.text ?? (answer.isError ? 'tool error' : '')
  if (!made) return 'no answer'
  return made.state === 'done' ? '' : (made.error?.text ?? stateText[made.state])
}

// remember makes a call of before this page was loaded known to it.
function remember(f: Frame, answer: Frame | undefined): void {
  if (!f.call || calls.has(f.call) || !answer || answer.kind === 'notification') return
  const known: Call = {
    id: f.call,
    src: f.src,
    method: f.method ?? '',
    state: answer.err ? 'failed' : 'done',
    started: f.ns,
    request: f.seq,
    answer: answer.seq,
  }
  if (f.name) known.name = f.name
  if (answer.took !== undefined) known.took = answer.took
  if (answer.bytes !== undefined) known.bytes = answer.bytes
  if (answer.isError) known.isError = true
  if (answer.err) known.error = answer.err
  calls.set(known.id, known)
}

// Previews are the arguments of calls, loaded when their row is drawn.
const previews = signal<ReadonlyMap<number, string>>(new Map())
const asked = new Set<number>()

function preview(seq: number): string {
  const known = previews.value.get(seq)
  if (known === undefined && !asked.has(seq)) {
    asked.add(seq)
    loadBody(seq, false).then(
      (body) => {
        const params = json.follow(json.rootOf(body.text), 'params')
        const shown = json.follow(params, 'arguments') ?? json.follow(params, 'uri')
        previews.value = new Map(previews.value).set(seq, shown ? oneLine(json.textOf(shown), 240) : '')
      },
      () => asked.delete(seq),
    )
  }
  return known ?? ''
}

// statistics returns how often a tool was called, and how long 95 of 100 calls took at most.
function statistics(list: Entry[], e: Entry): string {
  const times = list.filter((o) => o.src === e.src && o.method === e.method && o.name === e.name && o.took !== undefined).map((o) => o.took!)
  if (times.length < 2) return ''
  times.sort((a, b) => a - b)
  return `×${times.length}, median ${duration(times[times.length >> 1])}, p95 ${duration(times[Math.ceil(times.length * 0.95) - 1])}`
}

const stateOf = (name: string) => {
  const v = verdicts.value.get(name)
  if (!v) return <span class="muted">not run</span>
  if (v.state === 'running') return <span>running…</span>
  return v.state === 'pass' ? <span class="ok-text">✓ pass</span> : <span class="error-text">✗ fail</span>
}

// testCommand returns the command that makes the saved calls. A command as a source comes last, and
// there can be one only.
const testCommand = (file: string): string => {
  const list = sources.value.map((s) => s.argument ?? '')
  const commands = list.filter((a) => a.startsWith('-- '))
  if (list.some((a) => !a) || commands.length > 1) return `slipway test ${file}`
  return ['slipway test', file, ...list.filter((a) => !a.startsWith('-- ')), ...commands].join(' ')
}

export function History() {
  const chosenSaved = param('saved')
  const chosenSeq = Number(param('call')) || 0
  const list = entries.value
  const all = saved.value
  const [ask, question] = useConsent('Run all')
  const row = list.findIndex((e) => e.seq === chosenSeq)
  const entry = list[row]
  const savedRow = all.findIndex((s) => s.name === chosenSaved)
  const savedCall = all[savedRow]
  const dangerous = all.filter((s) => isDestructive(sourceOf(s), s.method, toolOf(s)))

  const start = () => {
    if (!all.length || runningAll.value) return
    const names = dangerous.map((s) => s.name).join(', ')
    ask(names && `Run all? ${plural(dangerous.length, 'call')} may change or delete data: ${names.slice(0, 300)}`, () => void runAll())
  }
  useKeys({ R: start })

  const results = [...verdicts.value.entries()].filter(([name]) => all.some((s) => s.name === name))
  const passed = results.filter(([, v]) => v.state === 'pass').length
  const failed = results.filter(([, v]) => v.state === 'fail').length
  const file = savedFile.value
  return (
    <section class="room history" aria-label="History">
      <div class="history-bar">
        <h2 class="sr">History</h2>
        <button type="button" class="small primary" disabled={!all.length || runningAll.value} onClick={start}>
          {runningAll.value ? 'Running…' : 'Run all'} <Key of="R" />
        </button>
        {results.length > 0 && (
          <span role="status" data-verdict>
            <span class="ok-text">{count(passed)} passed</span>
            {failed > 0 && <span class="error-text">, {count(failed)} failed</span>}
          </span>
        )}
        <span class="spacer" />
        {file ? (
          <>
            <span class="muted">
              {plural(all.length, 'call')} in <code>{file.file}</code>
            </span>
            <CopyButton quiet label="Copy test command" text={testCommand(file.file)} />
          </>
        ) : (
          <span class="muted">
            Saved calls last as long as this page. Start with <code>--calls FILE</code> to keep them.
          </span>
        )}
        <button type="button" class="small" disabled={!all.length} onClick={() => saveAs(file?.file ?? 'slipway.calls.json', new Blob([fileText()], { type: 'application/json' }))}>
          Download
        </button>
        {sources.value.length > 1 && (
          <a data-in href={address('cmp')}>
            Compare sources
          </a>
        )}
      </div>
      {question}
      {(savedProblem.value || loadProblem.value) && <Problem of={(savedProblem.value ?? loadProblem.value)!} />}
      <div class="history-split">
        <div class="history-lists" data-region="list" style={{ width: `${Number(layout.value['history'] ?? 480)}px` }}>
          <h3>Saved calls</h3>
          <div class="saved-box" style={{ height: `${Math.max(2, all.length) * 24}px` }}>
          <VirtualList
            id="saved"
            label="Saved calls"
            count={all.length}
            selected={savedRow}
            onSelect={(i) => setParams({ saved: all[i]!.name, call: undefined })}
            onOpen={(i) => void run(all[i]!)}
            empty={<span class="muted">Save a call with s in Tools or Traffic.</span>}
            row={(i) => {
              const s = all[i]!
              const verdict = verdicts.value.get(s.name)
              return (
                <>
                  <span class={s.star ? 'star on' : 'star'} aria-hidden="true">
                    {s.star ? '★' : '☆'}
                  </span>
                  <span class="name">{s.name.slice(0, 120)}</span>
                  <span class="args">{oneLine(s.params, 200)}</span>
                  {verdict?.took !== undefined && <span class="figure">{duration(verdict.took)}</span>}
                  {stateOf(s.name)}
                </>
              )
            }}
          />
          </div>
          <h3>This session</h3>
          <VirtualList
            id="calls"
            label="Calls of this session"
            count={list.length}
            selected={row}
            onSelect={(i) => setParams({ call: String(list[i]!.seq), saved: undefined })}
            empty={<span class="muted">No call yet.</span>}
            row={(i) => {
              const e = list[i]!
              return (
                <>
                  <span class="muted figure">{timeOfDay(e.ns).slice(0, 8)}</span>
                  <span class="name">{e.name.slice(0, 120)}</span>
                  <span class="args">{preview(e.seq)}</span>
                  {sources.value.length > 1 && <span class="muted">{source(e.src)?.name.slice(0, 40)}</span>}
                  {e.took !== undefined && <span class="figure">{duration(e.took)}</span>}
                  {e.failed === 'running' ? <span class="muted">running</span> : e.failed ? <span class="error-text">✗ {e.failed.slice(0, 30)}</span> : <span class="ok-text">✓ ok</span>}
                </>
              )
            }}
          />
        </div>
        <Splitter name="history" vertical initial={480} min={240} max={1200} />
        <div class="history-work" data-region="work" role="region" aria-label="Call" tabIndex={0}>
          {savedCall ? (
            <SavedCall key={savedCall.name} of={savedCall} />
          ) : entry ? (
            <Past key={entry.seq} of={entry} statistics={statistics(list, entry)} />
          ) : (
            <p class="nothing">Choose a call to see its arguments and its answer.</p>
          )}
        </div>
      </div>
    </section>
  )
}

// Past shows a call of this session.
function Past({ of, statistics }: { of: Entry; statistics: string }) {
  const params = useSignal('')
  const problem = useSignal<Failure | undefined>(undefined)
  const shown = useSignal(of.call)
  const loaded = useMemo(
    () => requestOf(framesBySeq.get(of.seq) ?? ({ seq: of.seq, method: of.method } as Frame)).then((r) => r.params),
    [of.seq],
  )
  useEffect(() => {
    loaded.then((text) => (params.value = text), (error) => (problem.value = failureOf(error)))
  }, [loaded])
  const [ask, question] = useConsent('Call again')
  const again = () =>
    ask(isDestructive(of.src, of.method, of.name) && `${mayDestroy(of.name)}. Call it again?`, () => {
      loaded.then((text) => call({ source: of.src, method: of.method, params: text, sendAnyway: true })).then(
        ({ id }) => (shown.value = id),
        (error) => (problem.value = failureOf(error)),
      )
    })
  const keep = () => {
    loaded.then((text) => saveCall(of.src, of.method, text)).then((name) => setParams({ saved: name, call: undefined })).catch((error) => (problem.value = failureOf(error)))
  }
  useKeys({ r: again, 'Mod+Enter': again, s: keep })
  const target = params.value ? addressOf(of.method, of.name, params.value, of.src) : undefined
  return (
    <>
      <header>
        <h3>{of.name}</h3>
        <p class="muted">
          {of.method}, {timeOfDay(of.ns)}, {source(of.src)?.name} {statistics && <span class="figure">{statistics}</span>}
        </p>
      </header>
      <div class="actions">
        <button type="button" class="small primary" onClick={again}>
          Call again <Key of="r" />
        </button>
        <button type="button" class="small" onClick={keep} disabled={!params.value}>
          Save call <Key of="s" />
        </button>
        {target && (
          <a data-in href={target}>
            Open in {of.method === 'tools/call' ? 'Tools' : of.method === 'prompts/get' ? 'Prompts' : 'Resources'}
          </a>
        )}
        <a data-in href={address('f', '', { at: String(of.seq) })}>
          Open in Traffic
        </a>
      </div>
      {question}
      {problem.value && <Problem of={problem.value} />}
      {params.value && <Params text={params.value} />}
      <Result id={shown.value || undefined} id2="past" />
    </>
  )
}

const Params = ({ text }: { text: string }) => {
  const pretty = useMemo(() => (text.length < 20_000 ? json.print(json.parse(text)) : text.slice(0, 20_000)), [text])
  return (
    <pre class="text wrap pad" tabIndex={0} role="region" aria-label="Params">
      {pretty}
    </pre>
  )
}

/** SavedCall shows a saved call: run, expectations, the last answer. */
function SavedCall({ of }: { of: Saved }) {
  const name = useSignal(of.name)
  const verdict = verdicts.value.get(of.name)
  const src = sourceOf(of)
  const [ask, question] = useConsent('Call')
  const start = () => ask(isDestructive(src, of.method, toolOf(of)) && `${mayDestroy(toolOf(of))}. Call it?`, () => void run(of))
  useKeys({ r: start, 'Mod+Enter': start })
  const renamed = () => {
    void rename(of.name, name.value.trim()).then((to) => setParams({ saved: to }))
  }
  const target = addressOf(of.method, toolOf(of), of.params, src)
  return (
    <>
      <header>
        <h3>{of.name}</h3>
        <p class="muted">
          {[of.method, toolOf(of).slice(0, 200)].filter(Boolean).join(' ')}
          {of.source && `, source ${of.source}`}
          {src === undefined && <span class="warn-text"> ⚠ no source has this name</span>}
        </p>
      </header>
      <div class="actions">
        <button type="button" class="small primary" onClick={start}>
          Run <Key of="r" />
        </button>
        <button type="button" class="small" aria-pressed={of.star} onClick={() => void setStar(of.name, !of.star)}>
          {of.star ? '★ Starred' : '☆ Star'}
        </button>
        <label>
          Name <input class="small" value={name.value} onInput={(e) => (name.value = e.currentTarget.value)} onChange={renamed} />
        </label>
        {target && (
          <a data-in href={target}>
            Open in Tools
          </a>
        )}
        <button
          type="button"
          class="small"
          onClick={() => {
            void removeSaved(of.name)
            setParams({ saved: undefined })
          }}
        >
          Remove
        </button>
      </div>
      {question}
      <Params text={of.params} />
      <Expectations of={of} faults={verdict?.faults ?? []} answer={verdict?.call ? calls.get(verdict.call)?.answer : undefined} />
      <Result id={verdict?.call} id2="saved" />
    </>
  )
}

const doesText: Record<Expectation['does'], string> = {
  equals: '=',
  contains: 'contains',
  matches: 'matches',
  schema: 'satisfies schema',
  exists: 'exists:',
  error: 'error code',
  isError: 'isError',
  below: 'faster than',
}

// isBare reports whether the expected value is a text without quotes.
const isBare = (does: string): boolean => /^(contains|matches|below)$/.test(does)

/** Expectations are what the answer of a saved call must be. They come from its last answer by a click. */
function Expectations({ of, faults, answer }: { of: Saved; faults: Fault[]; answer: number | undefined }) {
  const leaves = useSignal<{ pointer: string; value: string }[]>([])
  const draft = useSignal<Expectation>({ pointer: '', does: 'equals', value: '' })
  const problem = useSignal('')
  const editing = useSignal<number | undefined>(undefined)
  useEffect(() => {
    if (!answer) {
      leaves.value = []
      return
    }
    loadBody(answer, false).then(
      (body) => (leaves.value = leavesOf(json.follow(json.rootOf(body.text), 'result'))),
      () => (leaves.value = []),
    )
  }, [answer])
  const has = (pointer: string) => of.expect.some((e) => e.pointer === pointer && e.does === 'equals')
  const add = (e: Expectation) => setExpectations(of.name, [...of.expect, e])
  const addDraft = async () => {
    const before = draft.value
    const { does, pointer, value } = before
    const bare = isBare(does)
    const text = bare ? JSON.stringify(value) : value || (does === 'exists' || does === 'isError' ? 'true' : '')
    try {
      json.parse(text)
    } catch {
      problem.value = `“${text}” is not JSON: put a text in quotes`
      return
    }
    const at = editing.value
    const next = { pointer, does, value: text }
    const put = (list: Expectation[]) => (at === undefined ? [...list, next] : list.map((e, i) => (i === at ? next : e)))
    problem.value = await mistakeIn(of, put(of.expect), at ?? of.expect.length).catch((error) => failureOf(error).text)
    if (problem.value) return
    // Another expectation may have been added meanwhile, and another one typed.
    void setExpectations(of.name, put((saved.value.find((s) => s.name === of.name) ?? of).expect))
    editing.value = undefined
    if (draft.value === before) draft.value = { ...before, value: '' }
  }
  const edit = (i: number) => {
    const e = of.expect[i]!
    const value = json.parse(e.value)
    const bare = isBare(e.does) && value.t === 'string'
    draft.value = { pointer: e.pointer, does: e.does, value: bare ? value.text : e.value }
    editing.value = i
  }
  return (
    <section class="expectations" aria-label="Expectations">
      <h4>Expected</h4>
      <ul>
        {!of.expect.length && <li class="muted">An answer without an error.</li>}
        {of.expect.map((e, i) => (
          <li key={i}>
            {e.pointer && <code>{e.pointer}</code>} <span class="muted">{e.unknown ? '⚠ unknown' : doesText[e.does]}</span> <code>{e.value.slice(0, 200)}</code>
            {!e.unknown && (
              <button type="button" class="quiet small" aria-label={`Edit expectation ${i + 1}`} onClick={() => edit(i)}>
                Edit
              </button>
            )}
            <button type="button" class="quiet small" aria-label={`Remove expectation ${i + 1}`} onClick={() => {
                editing.value = undefined
                void setExpectations(of.name, of.expect.filter((_, j) => j !== i))
              }}>
              ✕
            </button>
          </li>
        ))}
      </ul>
      {faults.map((fault, i) => (
        <p key={i} class="error-text" data-fault>
          ✗ {fault.message.slice(0, 2000)}
        </p>
      ))}
      <div class="actions">
        <input class="small" aria-label="JSON Pointer into the result" placeholder="/structuredContent/id" value={draft.value.pointer} onInput={(e) => (draft.value = { ...draft.value, pointer: e.currentTarget.value })} />
        <select class="small" aria-label="Comparison" value={draft.value.does} onChange={(e) => (draft.value = { ...draft.value, does: e.currentTarget.value as Expectation['does'] })}>
          {Object.entries(doesText).map(([does, text]) => (
            <option value={does}>{text}</option>
          ))}
        </select>
        <input class="small" aria-label="Expected value" placeholder='12, "open", 200ms' value={draft.value.value} onInput={(e) => (draft.value = { ...draft.value, value: e.currentTarget.value })} />
        <button type="button" class="small" onClick={() => void addDraft()}>
          {editing.value === undefined ? 'Add' : 'Replace'}
        </button>
        {problem.value && <span class="error-text">{problem.value}</span>}
      </div>
      {leaves.value.length > 0 && (
        <details>
          <summary>Expect values of this answer</summary>
          <ul class="leaves">
            {leaves.value.map((leaf) => (
              <li key={leaf.pointer}>
                <button type="button" class="small" disabled={has(leaf.pointer)} onClick={() => void add({ ...leaf, does: 'equals' })} aria-label={`Expect ${leaf.pointer}`}>
                  {has(leaf.pointer) ? '✓' : '+'}
                </button>
                <code>
                  {leaf.pointer} = {leaf.value.slice(0, 80)}
                </code>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  )
}

const maxLeaves = 60

// leavesOf returns the first values of a result, structured content before texts.
function leavesOf(result: json.Node | undefined): { pointer: string; value: string }[] {
  const out: { pointer: string; value: string }[] = []
  const walk = (node: json.Node, path: (string | number)[]) => {
    if (out.length >= maxLeaves || path.length > 8) return
    if (node.kind === 'object' || node.kind === 'array') {
      for (const child of json.childrenOf(node, 30).list) walk(child, [...path, child.key!])
    } else if (!node.cut && node.to - node.from < 2000) out.push({ pointer: json.pointerOf(path), value: json.textOf(node) })
  }
  const structured = json.follow(result, 'structuredContent')
  if (structured) walk(structured, ['structuredContent'])
  if (!structured && result) walk(result, [])
  return out
}

