// Overview: how the connection came about, or why not, and what the server is.
import { useComputed, useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { failureOf, post } from '../api'
import { bytes, clock, count, duration, plural } from '../format'
import { phaseText, toneOf } from '../phase'
import { useKeys } from '../keys'
import { address, param } from '../route'
import { catalogs, frames, framesVersion, logCounts, logs, logsVersion, say, sources } from '../store'
import type { Finding, State, Step } from '../types'
import { now } from '../ui/clock'
import { CodeArea } from '../ui/editor'
import { Badge, Card, Fact, Problem, toneOfSeverity } from '../ui/kit'
import { VirtualList } from '../ui/list'
import { levels, Log } from '../ui/log'
import { Link, Markdown } from '../ui/markdown'
import { Verbs } from './verbs'

const here = (s: State, more: Record<string, string> = {}) => (sources.value.length > 1 ? { s: s.name, ...more } : more)

const report = (error: unknown): void => say(failureOf(error).text)

/** Overview is the room. With several sources, one is chosen. */
export function Overview() {
  const wanted = param('s')
  const state = sources.value.find((s) => s.name === wanted) ?? sources.value[0]
  if (!state) return <section class="room empty">No source.</section>
  return (
    <section class="room overview" tabIndex={-1} data-region="work">
      {sources.value.length > 1 && (
        <nav class="source-tabs" aria-label="Sources">
          {sources.value.map((s) => {
            const { tone, mark } = toneOf(s)
            return (
              <a data-in key={s.id} href={address('o', '', { s: s.name })} aria-current={s === state ? 'true' : undefined}>
                <span class={`dot ${tone}`} aria-hidden="true">
                  {mark}
                </span>
                {s.name}
              </a>
            )
          })}
        </nav>
      )}
      <Source key={state.id} of={state} />
    </section>
  )
}

function Source({ of: s }: { of: State }) {
  const { tone, mark } = toneOf(s)
  const busy = s.phase === 'connecting' || s.phase === 'waiting'
  const reconnect = () => {
    post('reconnect', { source: s.id, version: s.wanted?.version ?? '', capabilities: s.wanted?.capabilities ?? null }).then(() => say('Connecting again'), report)
  }
  const stop = () => {
    post('reconnect', { source: s.id, stop: true }).then(() => say('Stopped'), report)
  }
  const canConnect = s.phase !== 'recording' && s.kind !== 'recording'
  useKeys({ r: () => (canConnect ? reconnect() : false), Escape: () => (busy ? stop() : false) })
  const title = s.server?.title ?? s.server?.name ?? s.name
  return (
    <div class="overview-inner">
      <header class="hero">
        <div>
          <h2>{title}</h2>
          <p class="muted">
            {s.server?.version && <>{s.server.version} · </>}
            <code>{s.label}</code>
          </p>
        </div>
        <span class="spacer" />
        <span class={`hero-phase ${tone}-text`}>
          <span aria-hidden="true">{mark}</span> {phaseText(s)}
        </span>
        {busy && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
        {canConnect && (
          <button type="button" onClick={reconnect} {...(s.phase === 'failed' ? { 'data-first': true } : {})}>
            {s.phase === 'ready' ? 'Connect again' : s.phase === 'waiting' ? 'Now' : 'Try again'} <kbd>r</kbd>
          </button>
        )}
      </header>
      <div class="tiles">
        <Tile room="t" s={s} n={s.counts?.tools} noun="tool" />
        <Tile room="r" s={s} n={s.counts && s.counts.resources + s.counts.templates} noun="resource" />
        <Tile room="p" s={s} n={s.counts?.prompts} noun="prompt" />
        <Tile room="a" s={s} n={s.counts?.apps} noun="app" />
        <div class="tile" title="The definitions of the tools, as a model gets them; about four bytes a token">
          <strong>{isKnown(s) ? `≈ ${count(s.tokens ?? 0)}` : '–'}</strong>
          <span>tokens in every conversation{isKnown(s) && <>, {bytes(s.bytes ?? 0)}</>}</span>
        </div>
      </div>
      <div class="cards">
        <Doctor of={s} />
        <Server of={s} />
        <Cost of={s} />
        <FindingsCard of={s} />
        {s.instructions && (
          <Card title="Instructions" extra={<Badge>{bytes(new Blob([s.instructions]).size)}</Badge>}>
            <div class="instructions" tabIndex={0} role="region" aria-label="Instructions of the server">
              <Markdown text={s.instructions} />
            </div>
          </Card>
        )}
        <Verbs of={s} />
        <Lines of={s} />
        {canConnect && <Wanted of={s} />}
      </div>
    </div>
  )
}

// isKnown reports whether the lists of a source were read, now or before the connection ended.
const isKnown = (s: State): boolean => s.phase === 'ready' || s.phase === 'recording' || !!s.catalog

const Tile = ({ room, s, n, noun }: { room: string; s: State; n: number | undefined; noun: string }) => (
  <a data-in class="tile" href={address(room)}>
    <strong>{isKnown(s) || n ? count(n ?? 0) : '–'}</strong>
    <span>{n === 1 ? noun : `${noun}s`}</span>
  </a>
)

const stepTitles: Record<string, string> = {
  resolve: 'name',
  connect: 'TCP',
  tls: 'TLS',
  request: 'HTTP',
  start: 'process',
  discover: 'handshake (server/discover)',
  initialize: 'handshake (initialize)',
  lists: 'lists',
}

// What can be wrong when a server does not answer, by what is waited for.
const causes: Record<string, string[]> = {
  http: ['The address leads to something that is not an MCP server.', 'A proxy buffers the event stream.', 'The server waits for another system: see its log.'],
  stdio: ['The process waits for other input, or writes to a log.', 'It downloads packages first: its stderr is below.', 'It writes to stdout without flushing.'],
}

const order = { http: ['resolve', 'connect', 'tls', 'discover', 'lists'], stdio: ['start', 'initialize', 'lists'] }

// latest returns the steps of the latest attempt: one begins after the lists, or after a failure.
function latest(steps: Step[]): Step[] {
  let from = 0
  for (let i = 1; i < steps.length; i++) {
    const before = steps[i - 1]!
    if (['start', 'resolve', 'connect'].includes(steps[i]!.name) && (before.name === 'lists' || before.error)) from = i
  }
  return steps.slice(from)
}

// missing returns the steps that were not reached.
function missing(s: State): string[] {
  const plan = s.kind === 'stdio' || s.argument?.startsWith('-- ') ? order.stdio : s.kind === 'http' ? order.http : []
  const done = new Set(latest(s.steps).map((step) => step.name))
  const isTLS = s.label.startsWith('https:')
  return plan.filter((name, i) => {
    if (done.has(name) || (name === 'tls' && !isTLS) || (name === 'discover' && done.has('initialize'))) return false
    return !plan.slice(i + 1).some((later) => done.has(later))
  })
}

/** Doctor shows each step of connecting, with its time, and what to do about the one that failed. */
function Doctor({ of: s }: { of: State }) {
  const wanted = param('step')
  const steps = latest(s.steps)
  const total = steps.reduce((n, step) => Math.max(n, step.took), 1)
  const rest = s.phase === 'ready' ? [] : missing(s)
  const waits = s.phase === 'connecting' || s.phase === 'unresponsive'
  const elapsed = now.value - Date.parse(s.since)
  const failed = steps.some((step) => step.error)
  return (
    <Card
      title="Connection"
      wide={!!s.error || waits}
      extra={
        <a data-in class="small-text" href={address('f', '', { q: 'kind:step' })}>
          Steps in Traffic
        </a>
      }
    >
      <ol class="steps">
        {steps.map((step) => (
          <StepLine key={step.seq} of={step} total={total} current={wanted === step.name} />
        ))}
        {waits && (
          <li class="step">
            <span class="spinner" aria-hidden="true" />
            <span class="step-name">{stepTitles[s.waits ?? rest[0] ?? ''] ?? 'waiting'}</span>
            <span class="step-detail">{elapsed > 2000 && s.waits ? `waiting for ${s.waits}` : ''}</span>
            <span class="step-took clock">{clock(elapsed)}</span>
          </li>
        )}
        {rest.slice(waits ? 1 : 0).map((name) => (
          <li class="step missed">
            <span aria-hidden="true">·</span>
            <span class="step-name">{stepTitles[name] ?? name}</span>
            <span class="step-detail">{!failed && !s.error && waits ? 'next' : 'not reached'}</span>
          </li>
        ))}
        {!s.steps.length && !waits && !rest.length && (
          <li class="step">
            <span class="ok-text" aria-hidden="true">
              ✓
            </span>
            <span class="step-name">{s.kind === 'recording' ? 'recording' : 'in this process'}</span>
            <span class="step-detail">{s.kind === 'recording' ? 'nothing is connected' : 'no connection to set up'}</span>
          </li>
        )}
      </ol>
      {waits && elapsed > 10_000 && (
        <div class="hint">
          <p>Usual causes:</p>
          <ul>
            {(causes[s.kind] ?? causes['stdio']!).map((c) => (
              <li>{c}</li>
            ))}
          </ul>
        </div>
      )}
      {s.error && <Problem of={s.error} />}
    </Card>
  )
}

function StepLine({ of: step, total, current }: { of: Step; total: number; current: boolean }) {
  return (
    <li class={current ? 'step current' : 'step'}>
      <span class={step.error ? 'error-text' : 'ok-text'} aria-label={step.error ? 'failed' : 'ok'} role="img">
        {step.error ? '✗' : '✓'}
      </span>
      <span class="step-name">{stepTitles[step.name] ?? step.name}</span>
      <span class="step-detail">{step.error ?? step.detail}</span>
      <span class="step-bar" aria-hidden="true">
        <span class={step.error ? 'bad' : ''} style={{ width: `${Math.max(2, (100 * step.took) / total)}%` }} />
      </span>
      <a data-in class="step-took figure" href={address('f', '', { at: String(step.seq) })} title="Show in Traffic">
        {duration(step.took)}
      </a>
    </li>
  )
}

const known: [string, string, string][] = [
  ['tools', 'Tools', 't'],
  ['resources', 'Resources', 'r'],
  ['prompts', 'Prompts', 'p'],
  ['completions', 'Completions', ''],
  ['logging', 'Logging', ''],
  ['tasks', 'Tasks', ''],
  ['experimental', 'Experimental', ''],
  ['extensions', 'Extensions', ''],
]

// members returns what a capability says besides that it is there.
function members(value: unknown): string {
  if (typeof value !== 'object' || value === null) return ''
  return Object.entries(value)
    .filter(([, v]) => v !== false)
    .map(([k]) => k)
    .join(', ')
    .slice(0, 200)
}

function Server({ of: s }: { of: State }) {
  const names = [...known.map(([k]) => k), ...Object.keys(s.capabilities ?? {}).filter((k) => !known.some(([n]) => n === k))]
  return (
    <Card title="Server">
      <dl class="facts">
        {s.server?.name && <Fact name="Name">{s.server.name}</Fact>}
        {s.server?.version && <Fact name="Version">{s.server.version}</Fact>}
        {s.server?.websiteUrl && (
          <Fact name="Website">
            <Link url={s.server.websiteUrl} />
          </Fact>
        )}
        {s.version && <Fact name="Protocol">{`${s.version}, ${s.modern ? 'without sessions' : 'with a handshake'}`}</Fact>}
        <Fact name="Transport">{({ stdio: 'process, stdin and stdout', http: 'HTTP', memory: 'in this process', recording: 'recording', connection: 'connection' } as Record<string, string>)[s.kind] ?? '–'}</Fact>
        {s.pid ? <Fact name="Process">{`${s.pid}${(s.starts ?? 1) > 1 ? `, started ${s.starts} times` : ''}`}</Fact> : null}
        {s.junk ? (
          <Fact name="Not a message">
            <a data-in href={address('f', '', { q: 'kind:junk' })}>
              {plural(s.junk, 'line')}
            </a>
          </Fact>
        ) : null}
      </dl>
      {s.capabilities && (
        <ul class="capabilities" aria-label="Capabilities">
          {names.map((name) => {
            const value = s.capabilities![name]
            const has = value !== undefined
            return (
              <li class={has ? '' : 'none'} title={has ? JSON.stringify(value) : 'The server does not declare it'}>
                <span class={has ? 'ok-text' : 'muted'} aria-hidden="true">
                  {has ? '✓' : '–'}
                </span>
                <span>
                  {known.find(([k]) => k === name)?.[1] ?? name}
                  <span class="sr">{has ? ' declared' : ' not declared'}</span>
                </span>
                <span class="muted">{members(value)}</span>
              </li>
            )
          })}
        </ul>
      )}
      {s.client && Object.keys(s.client).length > 0 && (
        <p class="small-text muted">This page declares: {Object.keys(s.client).join(', ')}.</p>
      )}
    </Card>
  )
}

/** Cost shows which definitions are the most expensive for a model. */
function Cost({ of: s }: { of: State }) {
  const catalog = catalogs.value.get(s.id)
  const top = useMemo(() => [...(catalog?.tools ?? [])].sort((a, b) => b.tokens - a.tokens).slice(0, 8), [catalog])
  if (!catalog || !top.length || !s.tokens) return null
  const most = top[0]!.tokens || 1
  const others = catalog.tools.length - top.length
  const rest = catalog.tools.reduce((n, t) => n + t.tokens, 0) - top.reduce((n, t) => n + t.tokens, 0)
  return (
    <Card title="What it costs a model" extra={<Badge title="Estimated: about four bytes a token">≈ {count(s.tokens)} tokens</Badge>}>
      <ul class="bars">
        {top.map((t) => (
          <li>
            <a data-in href={address('t', t.name, here(s))}>
              {t.name}
            </a>
            <span class="bar-box" aria-hidden="true">
              <span style={{ width: `${(100 * t.tokens) / most}%` }} />
            </span>
            <span class="figure">{count(t.tokens)}</span>
          </li>
        ))}
        {others > 0 && (
          <li class="muted">
            <span>{plural(others, 'more tool')}</span>
            <span />
            <span class="figure">{count(rest)}</span>
          </li>
        )}
      </ul>
    </Card>
  )
}

const linkOf = (s: State, f: Finding): string | undefined => {
  const rooms: Record<string, string> = { tool: 't', resource: 'r', template: 'rt', prompt: 'p' }
  const room = rooms[f.kind]
  return f.name && room ? address(room, f.name, here(s, { v: 'findings' })) : undefined
}

function FindingsCard({ of: s }: { of: State }) {
  const findings = s.findings ?? []
  const groups = useMemo(() => {
    const map = new Map<string, Finding[]>()
    for (const f of findings) map.set(f.rule, [...(map.get(f.rule) ?? []), f])
    const rank = (f: Finding) => (f.severity === 'error' ? 0 : f.severity === 'warning' ? 1 : 2)
    return [...map.values()].sort((a, b) => rank(a[0]!) - rank(b[0]!))
  }, [s.findings])
  if (s.phase !== 'ready' && !findings.length) return null
  return (
    <Card title="Check" extra={<Badge tone={findings.length ? toneOfSeverity(groups[0]![0]!.severity) : 'ok'}>{findings.length ? plural(findings.length, 'finding') : 'no findings'}</Badge>}>
      {!findings.length && <p class="muted">Names, descriptions, schemas and apps follow every rule.</p>}
      <ul class="finding-groups">
        {groups.map((list) => (
          <FindingGroup key={list[0]!.rule} s={s} list={list} />
        ))}
      </ul>
    </Card>
  )
}

function FindingGroup({ s, list }: { s: State; list: Finding[] }) {
  const all = useSignal(false)
  const first = list[0]!
  const shown = all.value ? list.slice(0, 500) : list.slice(0, 3)
  return (
    <li>
      <div>
        <Badge tone={toneOfSeverity(first.severity)}>{first.severity}</Badge> <code>{first.rule}</code>
        {list.length > 1 && <span class="muted"> × {count(list.length)}</span>}
      </div>
      {first.hint && <p class="muted">{first.hint}</p>}
      <ul>
        {shown.map((f) => {
          const to = linkOf(s, f)
          return <li>{to ? <a data-in href={to}>{f.message}</a> : f.message}</li>
        })}
      </ul>
      {list.length > 3 && (
        <button type="button" class="link" aria-expanded={all.value} onClick={() => (all.value = !all.value)}>
          {all.value ? 'Show fewer' : `Show all ${count(list.length)}`}
        </button>
      )}
    </li>
  )
}

// Lines shows stderr of a process, and log lines outside calls.
function Lines({ of: s }: { of: State }) {
  const stderr = useComputed(() => {
    framesVersion.value
    return frames.filter((f) => f.src === s.id && f.kind === 'stderr').slice(-2000)
  })
  const selected = useSignal(-1)
  logsVersion.value
  const lines = (logs.get(0) ?? []).filter((l) => l.src === s.id)
  const canLevel = !!s.capabilities?.['logging']
  const setLevel = (level: string) => {
    post('level', { source: s.id, level }).then(() => say(`Log level: ${level}`), report)
  }
  return (
    <>
      {(s.kind === 'stdio' || stderr.value.length > 0) && (
        <Card title="stderr" extra={<Badge>{plural(stderr.value.length, 'line')}</Badge>}>
          {stderr.value.length ? (
            <div class="lines" style={{ height: `${stderr.value.length * 20 + 8}px` }}>
              <VirtualList
                id="stderr"
                label="stderr"
                count={stderr.value.length}
                height={20}
                selected={selected.value}
                onSelect={(i) => (selected.value = i)}
                follow
                extra="mono"
                row={(i) => stderr.value[i]?.text ?? ''}
              />
            </div>
          ) : (
            <p class="muted">The process wrote nothing to stderr.</p>
          )}
        </Card>
      )}
      {(canLevel || lines.length > 0) && (
        <Card
          title="Log"
          extra={
            canLevel && (
              <label class="small-text">
                Level asked of the server{' '}
                <select class="small" value={s.level ?? ''} onChange={(e) => setLevel(e.currentTarget.value)}>
                  {!s.level && <option value="">not set</option>}
                  {levels.map((l) => (
                    <option value={l}>{l}</option>
                  ))}
                </select>
              </label>
            )
          }
        >
          {lines.length ? (
            <div class="lines" style={{ height: `${lines.length * 20 + 44}px` }}>
              <Log lines={lines} total={Math.max(lines.length, sources.value.length > 1 ? 0 : (logCounts.get(0) ?? 0))} />
            </div>
          ) : (
            <p class="muted">No log messages outside calls.</p>
          )}
        </Card>
      )}
    </>
  )
}

const versions = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

// Wanted connects with another version or other capabilities, and edits the roots.
function Wanted({ of: s }: { of: State }) {
  const capabilities = useSignal(JSON.stringify(s.wanted?.capabilities ?? s.client ?? {}, null, 2))
  const version = useSignal(s.wanted?.version ?? '')
  const roots = useSignal(s.roots.map((r) => r.uri).join('\n'))
  const open = useSignal(false)
  const apply = (own: boolean) => {
    let declared: unknown = null
    try {
      if (own) declared = JSON.parse(capabilities.value)
    } catch {
      say('The capabilities are not JSON')
      return
    }
    post('reconnect', { source: s.id, version: version.value, capabilities: declared }).then(() => say('Connecting again'), report)
  }
  const setRoots = () => {
    const list = roots.value.split('\n').map((l) => l.trim()).filter(Boolean)
    post('roots', { source: s.id, roots: list.map((uri) => ({ uri, name: uri.replace(/\/+$/, '').split('/').at(-1) })) }).then(() => say('Roots set'), report)
  }
  return (
    <Card title="Connect differently">
      <button type="button" class="small" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
        {open.value ? 'Hide' : 'Version, capabilities, roots'}
      </button>
      {open.value && (
        <div class="wanted">
          <label>
            Protocol version{' '}
            <select value={version.value} onChange={(e) => (version.value = e.currentTarget.value)}>
              <option value="">the best both know</option>
              {versions.map((v) => (
                <option value={v}>{v}</option>
              ))}
            </select>
          </label>
          <div>
            <p class="muted small-text">Capabilities that this page declares to the server</p>
            <CodeArea text={capabilities.value} onChange={(t) => (capabilities.value = t)} label="Declared capabilities" rows={6} />
          </div>
          <div class="buttons">
            <button type="button" onClick={() => apply(true)}>
              Connect with these
            </button>
            <button type="button" class="quiet" onClick={() => apply(false)}>
              With the default
            </button>
          </div>
          <label class="stacked">
            Roots, one URI a line
            <textarea class="mono" rows={3} placeholder="file:///home/me/project" value={roots.value} onInput={(e) => (roots.value = e.currentTarget.value)} />
          </label>
          <button type="button" onClick={setRoots}>
            Set roots
          </button>
        </div>
      )}
    </Card>
  )
}
