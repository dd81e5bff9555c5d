// Compare: the same call on two sources, and where their answers differ.
import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { failureOf } from '../api'
import { Draft } from '../draft'
import { count, duration } from '../format'
import * as json from '../json'
import { useKeys } from '../keys'
import { param, setParams } from '../route'
import { isDestructive } from '../saved'
import { mayDestroy, useConsent } from '../ui/consent'
import { call, calls, callsVersion, catalogs, source, sources } from '../store'
import type { Failure } from '../types'
import { Editor } from '../ui/editor'
import { Key, Problem } from '../ui/kit'
import { Result } from '../ui/result'
import { Differences } from './frame'

const idOf = (name: string, other: number): number =>
  (sources.value.find((s) => s.name === name || String(s.id) === name) ?? sources.value[other])?.id ?? 0

// takeCall takes the call that another room leads here with.
function takeCall(): void {
  if (!param('i')) return
  try {
    const params = json.parse(param('i'))
    const name = json.at(params, ['name'])
    const given = json.at(params, ['arguments'])
    setParams({
      m: undefined,
      i: undefined,
      t: name?.t === 'string' ? name.text : undefined,
      a: given ? json.compact(given) : undefined,
    })
  } catch {
    setParams({ m: undefined, i: undefined })
  }
}

export function Compare() {
  useEffect(takeCall, [param('i')])
  const left = idOf(param('l'), 0)
  const right = idOf(param('r'), 1)
  const sides = [left, right]
  const names = useMemo(() => {
    const all = sides.map((id) => catalogs.value.get(id)?.tools.map((t) => t.name) ?? [])
    return { both: (all[0] ?? []).filter((n) => all[1]?.includes(n)), all: [...new Set(all.flat())] }
  }, [catalogs.value, left, right])
  const name = param('t') || names.both[0] || names.all[0] || ''
  const tools = sides.map((id) => catalogs.value.get(id)?.tools.find((t) => t.name === name))
  const form = (tools[0] ?? tools[1])?.form
  const owner = tools[0] ? left : tools[1] ? right : 0 // has the schema
  const draft = useMemo(() => new Draft(param('a') || '{}', owner ? { source: owner, tool: name } : undefined), [name, owner])
  const view = useSignal<'form' | 'json'>('form')
  const started = useSignal<(number | undefined)[]>([])
  const [ask, question, withdraw] = useConsent('Call both')
  const problem = useSignal<Failure | undefined>(undefined)
  callsVersion.value

  const start = () => {
    if (!name || left === right) return
    ask(sides.some((id) => isDestructive(id, 'tools/call', name)) && `${mayDestroy(name)}. Call it on both?`, () => void callBoth())
  }
  const callBoth = async () => {
    problem.value = undefined
    const params = `{"name":${JSON.stringify(name)},"arguments":${draft.oneLine()}}`
    setParams({ t: name, a: draft.oneLine().length < 4000 ? draft.oneLine() : undefined })
    try {
      const both = await Promise.all(sides.map((id) => call({ source: id, method: 'tools/call', params, sendAnyway: true })))
      started.value = both.map((c) => c.id)
    } catch (error) {
      problem.value = failureOf(error)
    }
  }
  useKeys({ 'Mod+Enter': start })
  useEffect(() => {
    started.value = []
    withdraw()
  }, [name, left, right])

  const done = started.value.map((id) => (id === undefined ? undefined : calls.get(id)))
  const answers = done.map((c) => c?.answer)
  const pick = (side: 'l' | 'r', id: number) => setParams({ [side]: source(id)?.name })
  const differs = tools[0] && tools[1] ? differences(tools[0].definition, tools[1].definition) : []
  return (
    <section class="room compare" aria-label="Compare">
      <h2 class="sr">Compare</h2>
      {sources.value.length < 2 && (
        <p class="nothing">
          Comparing needs two sources: <code>slipway inspect OLD NEW</code>
        </p>
      )}
      <div class="compare-form" data-region="work">
        {(['l', 'r'] as const).map((side, i) => (
          <label key={side}>
            {i ? 'with' : 'Compare'}
            <select class="small" value={String(sides[i])} onChange={(e) => pick(side, Number(e.currentTarget.value))}>
              {sources.value.map((s) => (
                <option value={String(s.id)}>{s.name}</option>
              ))}
            </select>
          </label>
        ))}
        <label>
          Tool
          <select class="small" value={name} onChange={(e) => setParams({ t: e.currentTarget.value, a: undefined })}>
            {names.all.slice(0, 2000).map((n) => (
              <option value={n}>{names.both.includes(n) ? n : `${n} (in one only)`}</option>
            ))}
          </select>
        </label>
        <button type="button" class="small" aria-pressed={view.value === 'json'} onClick={() => (view.value = view.value === 'json' ? 'form' : 'json')}>
          {view.value === 'json' ? 'Form' : 'JSON'}
        </button>
        <button type="button" class="primary" disabled={!name || left === right} onClick={() => void start()}>
          Call both <Key of="Mod Enter" />
        </button>
        {done[0]?.took !== undefined && done[1]?.took !== undefined && (
          <span class="figure">
            {duration(done[0].took)} and {duration(done[1].took)}
          </span>
        )}
      </div>
      {name && differs.length > 0 && <p class="warn-text pad">⚠ The definitions differ in {differs.join(', ')}.</p>}
      {question}
      {problem.value && <Problem of={problem.value} />}
      {name && (
        <div class="compare-args">
          <Editor draft={draft} form={form} view={view.value} label="Arguments" />
        </div>
      )}
      {answers[0] && answers[1] && (
        <>
          <h3>Differences of the answers</h3>
          <Differences a={answers[0]} b={answers[1]} />
        </>
      )}
      <div class="compare-sides" tabIndex={0} role="region" aria-label="Answers side by side">
        {sides.map((id, i) => source(id) && (
          <section key={i} aria-label={`Answer of ${source(id)?.name ?? ''}`}>
            <h3>
              {source(id)?.name} <span class="muted">{source(id)?.server?.version}</span>
              {!tools[i] && name && <span class="muted"> has no such tool</span>}
            </h3>
            {started.value[i] !== undefined && <Result id={started.value[i]} id2={`side-${i}`} />}
          </section>
        ))}
      </div>
      {!started.value.length && names.both.length > 0 && <p class="muted pad">{count(names.both.length)} tools are in both.</p>}
    </section>
  )
}

// differences returns the members in which two definitions differ.
function differences(a: Record<string, unknown>, b: Record<string, unknown>): string[] {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].filter((n) => JSON.stringify(a[n]) !== JSON.stringify(b[n]))
}
