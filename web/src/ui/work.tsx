// The work area: what is chosen at the top, its arguments, and the result below or beside.
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { failureOf } from '../api'
import { plural } from '../format'
import { saveCall } from '../saved'
import { useKeys } from '../keys'
import { address, go } from '../route'
import { type Session, timeout } from '../session'
import { callsVersion, savedFile, say, source, sources } from '../store'
import type { Finding } from '../types'
import { linked, useConsent } from './consent'
import { Badge, Key, layout, Problem, Splitter, toneOfSeverity } from './kit'
import { looksLikeMarkdown, Markdown } from './markdown'
import { Result, copyMenu, toggleWrap } from './result'

const beside = 1080 // from this width on, the result stands beside the arguments

export interface Action {
  session: Session
  method: string
  /** The verb on the button. */
  verb: string
  name: string
  /** The parameters to send, or why they cannot be sent. */
  params: () => { text: string } | { problem: string }
  /** Wrong arguments can be sent on purpose. */
  canSendAnyway?: boolean
  /** Nothing can be checked, as the schema is broken. */
  unchecked?: boolean
  extra?: ComponentChildren
}

/** Work lays out a head, the arguments with their buttons, and the result. */
export function Work({ head, action, children, before }: { head: ComponentChildren; action: Action; children: ComponentChildren; before?: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null)
  const wide = useSignal(false)
  const { session } = action
  const [ask, question, withdraw] = useConsent(action.verb, true)
  useLayoutEffect(() => {
    const element = box.current!
    const observer = new ResizeObserver(() => (wide.value = element.clientWidth >= beside))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const run = (sendAnyway = false) => {
    const params = action.params()
    if ('problem' in params) {
      session.attempted.value = true
      say(params.problem)
      return
    }
    ask(linked(session, action.method, action.name), async () => {
      if (await session.send(action.method, params.text, sendAnyway || !!action.unchecked)) return
      requestAnimationFrame(() => box.current?.querySelector<HTMLElement>('[aria-invalid=true], .field.wrong select, .field.wrong button')?.focus())
    })
  }
  const save = async () => {
    const params = action.params()
    if ('problem' in params) return say(params.problem)
    try {
      say(`Saved as “${await saveCall(session.source, action.method, params.text)}”`)
    } catch (error) {
      say(failureOf(error).text)
    }
  }
  const compare = () => {
    const params = action.params()
    if ('text' in params) go(address('cmp', '', { m: action.method, i: params.text, l: source(session.source)?.name }))
  }
  const tab = (n: number) => {
    const tabs = box.current?.querySelectorAll<HTMLElement>('.result-tabs [role=tab]')
    tabs?.[n - 1]?.click()
  }
  useKeys({
    'Mod+Enter': () => run(),
    Escape: () => (question ? withdraw() : session.cancel()),
    s: () => void save(),
    c: () => copyMenu(),
    w: toggleWrap,
    x: () => box.current?.querySelector<HTMLElement>('.result .tree [data-list]')?.dispatchEvent(new KeyboardEvent('keydown', { key: 'x', bubbles: true })),
    ArrowLeft: () => {
      if (!box.current?.contains(document.activeElement)) return false
      document.querySelector<HTMLElement>('main .list-pane [data-list]')?.focus()
      return true
    },
    '1': () => tab(1),
    '2': () => tab(2),
    '3': () => tab(3),
    '4': () => tab(4),
    '5': () => tab(5),
  })
  callsVersion.value
  const { id, before: last } = session.shown.value
  const problems = session.draft.problems.value.length + session.draft.more.value // Go returns the first ones
  const refused = session.attempted.value && problems > 0
  const size = layout.value[wide.value ? 'form-width' : 'form-height']
  const style: Record<string, string> = size ? { [wide.value ? 'width' : 'maxHeight']: `${size}px` } : {}
  return (
    <div class={wide.value ? 'work beside' : 'work'} ref={box} data-region="work">
      <section class="call-pane" style={style} aria-label={action.name}>
        <div class="call-scroll">
          {head}
          {children}
          {session.failure.value && <Problem of={session.failure.value} />}
        </div>
        {question}
        <div class="call-bar">
          <button type="button" class="primary" onClick={() => run()} aria-keyshortcuts="Control+Enter">
            {action.verb} <Key of="Mod" />
            <Key of="Enter" />
          </button>
          {action.canSendAnyway && refused && (
            <button type="button" class="warn-button" onClick={() => run(true)}>
              Send anyway
            </button>
          )}
          {refused && (
            <span class="error-text" role="status">
              {plural(problems, 'problem')}
            </span>
          )}
          {action.extra}
          <span class="spacer" />
          {sources.value.length > 1 && action.method === 'tools/call' && (
            <button type="button" class="quiet small" onClick={compare}>
              Compare
            </button>
          )}
          {savedFile.value?.writable && (
            <button type="button" class="quiet small" onClick={() => void save()} title="Save the call (s)">
              Save
            </button>
          )}
          <select
            class="small quiet-select"
            aria-label="Time-out"
            value={String(timeout.value)}
            onChange={(e) => (timeout.value = Number(e.currentTarget.value))}
          >
            <option value="5">time-out 5 s</option>
            <option value="60">time-out 60 s</option>
            <option value="600">time-out 10 min</option>
            <option value="-1">no time-out</option>
          </select>
        </div>
      </section>
      <Splitter name={wide.value ? 'form-width' : 'form-height'} vertical={wide.value} initial={wide.value ? 560 : 360} min={120} max={2000} />
      <div class="result-pane">
        {before}
        <Result id={id} before={last} verb={action.verb} />
      </div>
    </div>
  )
}

/** Head names what is chosen. */
export function Head({ name, title, description, badges, children }: {
  name: string
  title?: string | undefined
  description?: string | undefined
  badges?: ComponentChildren
  children?: ComponentChildren
}) {
  const all = useSignal(false)
  const long = (description?.length ?? 0) > 420
  const text = long && !all.value ? `${description!.slice(0, 400)}…` : description
  return (
    <header class="head">
      <div class="head-line">
        <h2>{name}</h2>
        <div class="badges">{badges}</div>
      </div>
      {title && title !== name && <p class="head-title">{title}</p>}
      {text &&
        (looksLikeMarkdown(text) ? (
          <div class="head-text">
            <Markdown text={text} />
          </div>
        ) : (
          <p class="head-text">{text}</p>
        ))}
      {long && (
        <button type="button" class="link small-text" aria-expanded={all.value} onClick={() => (all.value = !all.value)}>
          {all.value ? 'Show less' : 'Show all'}
        </button>
      )}
      {children}
    </header>
  )
}

/** Findings are what the checks say about a definition. */
export const Findings = ({ of }: { of: Finding[] }) => (
  <ul class="findings">
    {of.map((f) => (
      <li>
        <Badge tone={toneOfSeverity(f.severity)}>{f.severity}</Badge> <span>{f.message}</span>
        {f.hint && <span class="muted"> {f.hint}</span>} <code class="muted">{f.rule}</code>
      </li>
    ))}
  </ul>
)
