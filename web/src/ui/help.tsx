// The map of the keyboard.
import { helpOpen, singleKeys } from '../keys'
import { Dialog } from './dialog'
import { isMac, setLayout } from './kit'

const map: [string, [string, string][]][] = [
  ['Everywhere', [
    ['Mod K', 'Go to anything'],
    ['g then o t r p a f h', 'Overview, Tools, Resources, Prompts, Apps, Traffic, History'],
    ['F6', 'Next region; with Shift the one before'],
    ['Mod J', 'Open or close the dock'],
    ['Esc', 'Cancel the call, close, or leave the field'],
    ['?', 'This map'],
  ]],
  ['Lists', [
    ['/', 'Filter'],
    ['j k ↑ ↓', 'Next, previous'],
    ['Home End PgUp PgDn', 'Start, end, page'],
    ['↵ or →', 'Into the work area; ← back to the list'],
  ]],
  ['Calls and results', [
    ['Mod ↵', 'Call, read or get, also from any field'],
    ['s', 'Save the call'],
    ['c', 'Copy as curl, slipway call, Go test, frame'],
    ['1 … 5', 'Tabs of the result'],
    ['w', 'Wrap lines'],
    ['x', 'Expand or collapse the tree'],
    ['u', 'Subscribe to the resource'],
  ]],
  ['Traffic', [
    ['r', 'Replay, or connect again'],
    ['e', 'Edit and replay'],
    ['m then c', 'Mark, then compare with the mark'],
    ['p', 'Pause the stream'],
  ]],
]

const keys = (text: string): string => text.replace('Mod', isMac ? '⌘' : 'Ctrl')

export function Help() {
  const close = () => (helpOpen.value = false)
  return (
    <Dialog title="Keyboard" onClose={close} extra="help">
      <div class="help-groups">
        {map.map(([title, lines]) => (
          <section>
            <h3>{title}</h3>
            <dl>
              {lines.map(([key, does]) => (
                <div>
                  <dt>
                    {keys(key).split(' ').map((k) => (/^(then|or|…)$/.test(k) ? ` ${k} ` : <kbd>{k}</kbd>))}
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <div class="buttons">
        <label class="check">
          <input type="checkbox" checked={singleKeys.value} onChange={(e) => setLayout('keys', e.currentTarget.checked ? 'on' : 'off')} />
          Single letters are shortcuts
        </label>
        <span class="spacer" />
        <button type="button" class="primary" onClick={close} data-first>
          Close
        </button>
      </div>
    </Dialog>
  )
}
