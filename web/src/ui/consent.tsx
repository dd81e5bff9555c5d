// The question before a call that may change or delete data.
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { isDestructive } from '../saved'
import type { Session } from '../session'

/**
 * useConsent returns a function that runs a call, or first asks the user if there is a question; the question, to
 * draw; and a function that withdraws it. If isLinked, doing nothing has the focus.
 */
export function useConsent(
  verb: string,
  isLinked = false,
): [ask: (question: string | false | undefined, run: () => void) => void, bar: ComponentChildren, withdraw: () => void] {
  const asked = useSignal<{ question: string; run: () => void } | undefined>(undefined)
  const withdraw = () => (asked.value = undefined)
  const focus = (b: HTMLElement | null) => b?.focus()
  const { question, run } = asked.value ?? {}
  return [
    (question, run) => {
      asked.value = question ? { question, run } : undefined
      if (!question) run()
    },
    run && (
      <div class="confirm" role="alert">
        <span>{question}</span>
        <button type="button" class="small danger" ref={isLinked ? undefined : focus} onClick={() => (withdraw(), run())}>
          {verb}
        </button>
        <button type="button" class="small" ref={isLinked ? focus : undefined} onClick={withdraw}>
          Cancel
        </button>
      </div>
    ),
    withdraw,
  ]
}

/** mayDestroy begins the question about a tool. */
export const mayDestroy = (name = ''): string => `${name.slice(0, 80)} may change or delete data`

/** linked is the question before arguments from a link go to a tool that may destroy something, if it is necessary. */
export const linked = (session: Session, method: string, name: string): string | false =>
  session.fromLink && isDestructive(session.source, method, name) && `The arguments came with a link, and ${mayDestroy(name)}. Call it?`
