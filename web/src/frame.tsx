// The frame of the page: bar, rail, room, questions and dock. It never moves.
import type { ComponentType, TargetedEvent } from 'preact'
import { useEffect, useErrorBoundary } from 'preact/hooks'
import { boot, failureOf, post, useToken } from './api'
import { helpOpen, paletteOpen, showPalette, visited } from './keys'
import { later, rooms, viewOf } from './rooms'
import { Dock } from './rooms/dock'
import { phaseText, toneOf } from './phase'
import { address, go, place, room } from './route'
import { asks, by, hidden, link, linkError, said, say, shown, sources, start } from './store'
import { nextTheme, themeOf } from './theme'
import type { State } from './types'
import { Icon, Key } from './ui/kit'
import { LinkQuestion } from './ui/markdown'

const Asks = later('Asks')
const Help = later('Help')
const Palette = later('Palette')

const Mark = () => (
  <svg class="mark" viewBox="0 0 48 48" aria-hidden="true">
    <rect class="mark-back" width="48" height="48" rx="10" />
    <path class="mark-sail" d="M10 13.5h22.5L38 27.6 15 21z" />
    <path class="mark-way" d="M7 24.6 41 34.4" />
    <path class="mark-sea" d="M7 38.6c4.2-3 7.3-3 11.3 0s7.200 3 11.300 0 7.300-3 11.400 0" />
  </svg>
)

function Chip({ state }: { state: State }) {
  const { tone, mark } = toneOf(state)
  const several = sources.value.length > 1
  const off = hidden.value.has(state.id)
  const toggle = () => {
    const next = new Set(hidden.value)
    if (!next.delete(state.id)) next.add(state.id)
    hidden.value = next
  }
  const label = state.label.replace(/^-- /, '')
  const inner = (
    <>
      <span class={`dot ${tone}`} aria-hidden="true">
        {mark}
      </span>
      <strong>{state.name}</strong>
      {state.phase !== 'ready' && <span class={`chip-phase ${tone}-text`}>{phaseText(state)}</span>}
    </>
  )
  if (several) {
    return (
      <button
        type="button"
        class={off ? 'chip off' : 'chip'}
        aria-pressed={!off}
        title={`${state.label}\nShow or hide what this source offers`}
        onClick={toggle}
      >
        {inner}
      </button>
    )
  }
  return (
    <a data-in class="chip" href={address('o')} title="Overview">
      {inner}
      {label !== state.name && <span class="chip-label">{label}</span>}
    </a>
  )
}

// Banner says that the program behind the page is gone, or servers that are started again.
function Banner() {
  if (link.value === 'lost') {
    return (
      <div class="banner" role="status">
        <strong>slipway inspect has ended.</strong> What is here stays readable; the page connects again by itself.
        {linkError.value && <span class="muted"> {linkError.value.text}</span>}
      </div>
    )
  }
  return (
    <>
      {shown.value.filter((s) => s.phase === 'waiting').slice(0, 3).map((s) => (
        <div class="banner warn" role="status" key={s.id}>
          <span aria-hidden="true">▲</span>
          <strong>
            {s.name} {phaseText(s)}
          </strong>
          <span class="banner-text">{s.error?.text.slice(0, 500)}</span>
          <button type="button" class="small" onClick={() => void post('reconnect', { source: s.id, version: s.wanted?.version ?? '', capabilities: s.wanted?.capabilities ?? null }).catch((e) => say(failureOf(e).text))}>
            Now
          </button>
        </div>
      ))}
    </>
  )
}

function Locked() {
  const submit = (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault()
    const text = String(new FormData(event.currentTarget).get('token') ?? '')
    if (!useToken(text.trim())) return
    link.value = 'opening'
    void start()
  }
  return (
    <section class="locked">
      <h2>This page needs the token of its run</h2>
      <p>
        <code>slipway inspect</code> prints an address that ends in <code>#…</code>. Open that one, or paste it here.
      </p>
      <form onSubmit={submit}>
        <input name="token" aria-label="Address or token" placeholder="http://localhost:…/#…" autocomplete="off" data-first />
        <button type="submit" class="primary">
          Open
        </button>
      </form>
    </section>
  )
}

function Bar() {
  const theme = themeOf()
  return (
    <header class={link.value === 'lost' ? 'bar lost' : 'bar'} data-region="bar" aria-label="Sources">
      <a data-in class="brand" href={address('o')} aria-label="slipway inspect, overview">
        <Mark />
        <h1>
          <span>slipway</span> inspect
        </h1>
      </a>
      <div class="chips">
        {sources.value.map((s) => (
          <Chip key={s.id} state={s} />
        ))}
      </div>
      <output class="said" aria-live="polite">
        {said}
      </output>
      {asks.value.length > 0 && (
        <button type="button" class="small warn-button" onClick={() => document.querySelector<HTMLElement>('.asks [data-first]')?.focus()}>
          {asks.value.length === 1 ? '1 question' : `${asks.value.length} questions`}
        </button>
      )}
      <button type="button" class="search-button" onClick={() => showPalette(true)} aria-keyshortcuts="Control+K">
        <Icon name="search" /> <span class="wide">Go to…</span> <Key of="Mod K" />
      </button>
      <button type="button" class="quiet icon-button" aria-label={`Theme: ${theme}`} title={`Theme: ${theme}`} onClick={nextTheme}>
        <Icon name={theme === 'dark' ? 'moon' : theme === 'light' ? 'sun' : 'theme'} />
      </button>
      <button type="button" class="quiet icon-button" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={() => (helpOpen.value = true)}>
        <Icon name="help" />
      </button>
    </header>
  )
}

const short = (n: number): string => (n < 10_000 ? String(n) : n < 1e6 ? `${Math.floor(n / 1000)}k` : `${Math.floor(n / 1e6)}M`)

function Rail() {
  return (
    <nav class="rail" aria-label="Rooms" data-region="rail">
      <select
        class="rail-select"
        aria-label="Room"
        value={room.value}
        onChange={(e) => go(visited.get(e.currentTarget.value) ?? address(e.currentTarget.value))}
      >
        {rooms.map((r) => (
          <option value={r.id}>{r.label}</option>
        ))}
      </select>
      <ul>
        {rooms.map((r) => {
          const n = r.count?.()
          const current = room.value === r.id
          return (
            <li key={r.id}>
              <a
                data-in
                href={current ? address(r.id) : (visited.get(r.id) ?? address(r.id))}
                aria-current={current ? 'page' : undefined}
                title={`${r.label} (g ${r.id})`}
                {...(current ? { 'data-first': true } : {})}
              >
                <Icon name={r.icon} />
                <span class="rail-name">{r.label}</span>
                {n !== undefined && <span class="rail-count">{short(n)}</span>}
              </a>
            </li>
          )
        })}
      </ul>
      <p class="rail-foot">{by.value}</p>
    </nav>
  )
}

// Guarded draws a room, or the error of drawing it; the rest of the page stays usable.
function Guarded({ view: View }: { view: ComponentType }) {
  const [error, reset] = useErrorBoundary()
  if (!error) return <View />
  return (
    <section class="room empty">
      <h2>This room could not be drawn</h2>
      <pre class="snippet">{error instanceof Error ? error.stack : String(error)}</pre>
      <button type="button" onClick={reset}>
        Try again
      </button>
    </section>
  )
}

/** Frame is the whole page. */
export function Frame() {
  const View = viewOf(room.value)
  const name = rooms.find((r) => r.id === room.value)?.label ?? 'Compare'
  useEffect(() => {
    const chosen = place.value.name
    document.title = `${chosen ? `${chosen.slice(0, 60)} – ` : ''}${name} – slipway inspect`
    visited.set(room.value, location.pathname + location.search)
  }, [place.value])
  return (
    <div class="frame">
      <a class="skip" href="#work" onClick={(e) => {
        e.preventDefault()
        document.querySelector<HTMLElement>('main')?.focus()
      }}>
        Skip to the room
      </a>
      <Bar />
      <Rail />
      <main id="work" class="room-box" tabIndex={-1} aria-label={name}>
        <Banner />
        {link.value === 'locked' && boot.auth !== 'none' ? <Locked /> : <Guarded key={room.value} view={View} />}
      </main>
      {asks.value.length > 0 && <Asks />}
      <Dock />
      {paletteOpen.value && <Palette />}
      {helpOpen.value && <Help />}
      <LinkQuestion />
    </div>
  )
}
