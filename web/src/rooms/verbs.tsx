// Slipway's other verbs for a source. Each shows its command; the page itself runs those that
// start no program and write no file but a download.
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { download, failureOf, get, post } from '../api'
import { plural } from '../format'
import { say } from '../store'
import type { Failure, State } from '../types'
import { Card, Command, copy, Problem } from '../ui/kit'

interface Verb {
  verb: string
  title: string
  command: string
  does: string
  here?: boolean
}

interface Drift {
  item: string
  text: string
  diff?: string
  informational?: boolean
}

interface Drifts {
  file: string
  drifts: Drift[]
  total: number
}

export function Verbs({ of: s }: { of: State }) {
  const list = useSignal<Verb[]>([])
  const found = useSignal<Drifts | undefined>(undefined)
  const problem = useSignal<Failure | undefined>(undefined)
  const picker = useRef<HTMLInputElement>(null)
  useEffect(() => {
    get<{ commands: Verb[] | null }>(`commands?source=${s.id}`).then((c) => (list.value = c.commands ?? []), () => undefined)
  }, [s.id])
  if (!list.value.length) return null
  const attempt = (work: Promise<void>) => {
    problem.value = undefined
    work.catch((error) => (problem.value = failureOf(error)))
  }
  const compare = async (file: File | undefined) => {
    if (!file) return
    found.value = undefined
    const answer = await post<Omit<Drifts, 'file'>>(`lock?source=${s.id}`, await file.text())
    found.value = { ...answer, file: file.name }
    say(answer.total ? plural(answer.total, 'difference') : 'Nothing has changed since the lock')
  }
  const acts: Record<string, () => void> = {
    check: () => {
      const card = document.querySelector<HTMLElement>('section[aria-label=Check]')
      card?.scrollIntoView({ block: 'center' })
      card?.focus({ preventScroll: true })
      say(s.findings?.length ? plural(s.findings.length, 'finding') : 'No findings')
    },
    lock: () => attempt(download(`lock?source=${s.id}`, 'slipway.lock').then(() => say('Saved slipway.lock'))),
    diff: () => picker.current?.click(),
  }
  return (
    <Card title="Continue with Slipway">
      <dl class="verbs">
        {list.value.map((v) => {
          const run = v.here && s.phase === 'ready' ? acts[v.verb] : undefined
          return (
            <div key={v.verb}>
              <dt>
                <button
                  type="button"
                  class="small"
                  title={run ? v.does : 'Copies the command: run it in a terminal'}
                  onClick={run ?? (() => void copy(v.command, `Copied: ${v.command}`))}
                >
                  {v.title}
                </button>
                <span class="muted">
                  {v.does}
                  {!run && ', in a terminal'}
                </span>
              </dt>
              <dd>
                <Command text={v.command} />
                {v.verb === 'diff' && found.value && <LockDiff of={found.value} />}
              </dd>
            </div>
          )
        })}
      </dl>
      <input
        ref={picker}
        type="file"
        hidden
        accept=".lock,.json"
        aria-label="Lock file"
        onChange={(e) => {
          attempt(compare(e.currentTarget.files?.[0]))
          e.currentTarget.value = ''
        }}
      />
      {problem.value && <Problem of={problem.value} />}
    </Card>
  )
}

function LockDiff({ of: found }: { of: Drifts }) {
  if (!found.total) return <p class="ok-text">✓ Nothing has changed since {found.file}.</p>
  return (
    <ul class="drifts" aria-label={`Differences from ${found.file}`}>
      {found.drifts.map((d) => (
        <li>
          <span class={d.informational ? 'muted' : 'warn-text'}>{d.text}</span>
          {d.diff && (
            <pre class="diff" tabIndex={0}>
              {d.diff.split('\n').map((l) => (
                <span class={l[0] === '+' ? 'added' : l[0] === '-' ? 'removed' : undefined}>{l + '\n'}</span>
              ))}
            </pre>
          )}
        </li>
      ))}
      {found.total > found.drifts.length && <li class="muted">{plural(found.total - found.drifts.length, 'more difference')}</li>}
    </ul>
  )
}
