// Log lines of a call or a source.
import { useSignal } from '@preact/signals'
import { address } from '../route'
import { count } from '../format'
import type { LogLine } from '../types'
import { VirtualList } from './list'

/** levels are those of log messages, the least first. */
export const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

export const logText = (line: LogLine): string => {
  const { data } = line.params
  return typeof data === 'string' ? data : (JSON.stringify(data) ?? '')
}

export function Log({ lines, total }: { lines: LogLine[]; total: number }) {
  const selected = useSignal(-1)
  const least = useSignal('debug')
  const shown = lines.filter((l) => levels.indexOf(l.params.level ?? 'info') >= levels.indexOf(least.value))
  return (
    <div class="log">
      <div class="content-bar">
        <label>
          Level{' '}
          <select class="small" value={least.value} onChange={(e) => (least.value = e.currentTarget.value)}>
            {levels.map((l) => (
              <option value={l}>{l}</option>
            ))}
          </select>
        </label>
        <span class="muted">
          {count(shown.length)} of {count(total)}
          {total > lines.length && (
            <>
              ; all of them are in <a data-in href={address('f', '', { q: 'method:notifications/message' })}>Traffic</a>
            </>
          )}
        </span>
      </div>
      <VirtualList
        id="log"
        label="Log lines"
        count={shown.length}
        height={20}
        selected={selected.value}
        onSelect={(i) => (selected.value = i)}
        follow
        extra="mono"
        empty="No line of this level"
        row={(i) => {
          const line = shown[i]!
          return (
            <>
              <span class={`level ${line.params.level ?? ''}`}>{line.params.level}</span>
              {line.params.logger && <span class="muted">{line.params.logger.slice(0, 40)} </span>}
              <span>{logText(line).slice(0, 1000)}</span>
            </>
          )
        }}
      />
    </div>
  )
}
