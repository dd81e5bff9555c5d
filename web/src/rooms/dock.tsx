// The dock: the last exchanges in every room, and the newest frames when it is open.
import { useComputed } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { count, duration, plural } from '../format'
import { useKeys } from '../keys'
import { address, go, room } from '../route'
import { answerOf, liveRows, Rows, titleOf, type View } from '../rows'
import { frames, framesBySeq, framesVersion, hidden, running } from '../store'
import type { Frame } from '../types'
import { Key, layout, setLayout } from '../ui/kit'
import { VirtualList } from '../ui/list'
import './lab.css'

const placeOf = (f: Frame): string => address('f', '', { at: String(f.seq) })

// recent returns the last exchanges that a person would ask about.
function recent(limit: number): Frame[] {
  const list: Frame[] = []
  for (let i = frames.length - 1; i >= 0 && list.length < limit && i > frames.length - 400; i--) {
    const f = frames[i]!
    if (hidden.value.has(f.src)) continue
    if (f.kind === 'request' || (f.kind === 'response' && !framesBySeq.has(f.pair ?? 0)) || f.kind === 'stderr' || f.kind === 'junk') list.unshift(f)
  }
  return list
}

export function toggleDock(): void {
  setLayout('dock', layout.value['dock'] === 'open' ? '' : 'open')
}

export function Dock() {
  framesVersion.value
  const open = layout.value['dock'] === 'open' && room.value !== 'f'
  const made = useRef<Rows | undefined>(undefined)
  const view = useComputed<View>(() => ({ transport: false, after: 0, hidden: hidden.value }))
  useKeys({ 'Mod+j': toggleDock })
  const rows = open ? (made.current = liveRows(made.current, view.value)) : undefined
  const busy = running.value.length
  return (
    <section class="dock" aria-label="Recent traffic" data-region="dock">
      <div class="dock-strip">
        <button
          type="button"
          class="quiet small"
          aria-expanded={open}
          aria-controls={open ? 'dock-panel' : undefined}
          disabled={room.value === 'f'}
          onClick={toggleDock}
        >
          {plural(frames.length, 'frame')} <span aria-hidden="true">{open ? '▾' : '▴'}</span> <Key of="Mod J" />
        </button>
        {busy > 0 && <span class="badge accent">{count(busy)} running</span>}
        <ul class="dock-items">
          {recent(10).map((f) => {
            const answer = answerOf(f)
            const [method, rest] = titleOf(f)
            const failed = f.err || answer?.err || answer?.isError || f.kind === 'junk'
            return (
              <li key={f.seq}>
                <a data-in href={placeOf(f)} class={failed ? 'failed' : ''}>
                  {f.d === 'in' ? '◂' : '▸'} <b>{(f.kind === 'request' ? f.name || method : method).slice(0, 40)}</b>{' '}
                  {f.kind === 'request' ? (answer?.took !== undefined ? duration(answer.took) : '…') : rest.slice(0, 40)}
                  {failed ? ' ✗' : ''}
                </a>
              </li>
            )
          })}
        </ul>
      </div>
      {rows && (
        <div class="dock-panel" id="dock-panel">
          <VirtualList
            id="dock"
            label="Newest frames"
            count={rows.rows.length}
            selected={-1}
            onSelect={(i) => go(placeOf(rows.rows[i]!.first))}
            follow
            extra="frames"
            empty="No frame yet"
            row={(i) => {
              const { first: f, run } = rows.rows[i]!
              const answer = answerOf(f)
              const [method, rest] = titleOf(f)
              return (
                <>
                  <span class="c-seq">{f.seq}</span>
                  <span class="c-took">{answer?.took !== undefined ? duration(answer.took) : ''}</span>
                  <span class="c-what">
                    <b>{method.slice(0, 120)}</b> {run ? <span class="times">×{count(run.length)}</span> : <span class="rest">{rest.slice(0, 200)}</span>}
                    {answer?.err && <span class="error-text"> ✗ {answer.err.text.slice(0, 120)}</span>}
                  </span>
                </>
              )
            }}
          />
        </div>
      )}
    </section>
  )
}
