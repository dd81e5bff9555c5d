// The state of one tool, resource or prompt: its arguments, calls and their errors.
// It lasts as long as the page, so switching to another tool loses nothing.
import { signal } from '@preact/signals'
import { ApiError, failureOf } from './api'
import { Draft, type Subject } from './draft'
import { call, calls, cancel, say } from './store'
import type { Failure } from './types'

export class Session {
  readonly draft: Draft
  /** The latest call, and the one whose result it replaces. */
  readonly shown = signal<{ id?: number; before?: number }>({})
  readonly failure = signal<Failure | undefined>(undefined)
  /** The arguments were refused: what is missing is marked from now on. */
  readonly attempted = signal(false)
  readonly meta = signal('')
  /** The arguments came with a link and have not been used in a call yet. */
  fromLink = false

  constructor(readonly source: number, text: string, subject: Subject) {
    this.draft = new Draft(text, subject)
  }

  get running(): number | undefined {
    const { id } = this.shown.peek()
    return id !== undefined && calls.get(id)?.state === 'running' ? id : undefined
  }

  /** send starts a call. It returns false if the arguments were refused. */
  async send(method: string, params: string, sendAnyway = false): Promise<boolean> {
    this.failure.value = undefined
    if (!sendAnyway) {
      await this.draft.checkNow()
      const problems = this.draft.problems.peek()
      if (problems.length) {
        this.attempted.value = true
        say(`Not sent: ${problems[0]!.pointer || 'the arguments'}: ${problems[0]!.text}`)
        return false
      }
    }
    try {
      const meta = this.meta.peek().trim()
      const { id, ended } = await call({ source: this.source, method, params, timeout: timeout.peek(), sendAnyway, ...(meta ? { meta } : {}) })
      const before = this.shown.peek().id
      this.shown.value = before === undefined ? { id } : { id, before }
      this.fromLink = false
      this.attempted.value = false
      void ended.then((done) => say(`${done.name ?? done.method}: ${done.isError ? 'tool error' : done.state}`))
      return true
    } catch (error) {
      const refused = error instanceof ApiError && error.problems.length > 0
      if (refused) this.draft.problems.value = error.problems
      else this.failure.value = failureOf(error)
      this.attempted.value = true
      say(failureOf(error).text)
      return !refused
    }
  }

  cancel(): boolean {
    const id = this.running
    if (id === undefined) return false
    void cancel(id).catch((error) => say(failureOf(error).text))
    return true
  }
}

/** timeout is that of calls in seconds. -1 is none. */
export const timeout = signal(60)

const sessions = new Map<string, Session>()

/** sessionOf returns the session of a key, made when it is wanted first. */
export function sessionOf(key: string, make: () => Session): Session {
  let session = sessions.get(key)
  if (!session) sessions.set(key, (session = make()))
  return session
}
