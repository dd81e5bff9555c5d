// A draft of arguments: JSON text that a form and a text field edit together, and that Go checks.
import { type Signal, effect, signal } from '@preact/signals'
import { ApiError, post } from './api'
import * as json from './json'
import type { Problem } from './types'

/** What a draft is checked against: a tool, a prompt or a question. */
export type Subject = { source: number; tool: string } | { source: number; prompt: string } | { ask: number } | undefined

export class Draft {
  readonly text: Signal<string>
  readonly value: Signal<json.Value | undefined>
  readonly problems = signal<Problem[]>([])
  readonly more = signal(0)
  /** The text is no JSON. */
  readonly broken = signal(false)
  private timer = 0
  private abort: AbortController | undefined
  private typed: json.Value | undefined

  constructor(text: string, readonly subject: Subject) {
    this.text = signal(text)
    this.value = signal<json.Value | undefined>(undefined)
    this.setText(text)
    effect(() => {
      const value = this.value.value
      if (value === undefined || value === this.typed) return
      this.broken.value = false
      this.text.value = json.print(value)
      this.check()
    })
  }

  /** setText takes what was typed as JSON. */
  setText(text: string): void {
    this.text.value = text
    try {
      this.typed = json.parse(text)
      this.value.value = this.typed
      this.broken.value = false
    } catch {
      this.broken.value = true
    }
    this.check()
  }

  /** set takes a whole value. */
  set(value: json.Value): void {
    this.value.value = value
  }

  // check asks Go, after a moment without typing.
  private check(): void {
    if (!this.subject) return
    clearTimeout(this.timer)
    this.timer = window.setTimeout(() => void this.checkNow(), 120)
  }

  async checkNow(): Promise<void> {
    clearTimeout(this.timer)
    if (!this.subject) return
    this.abort?.abort()
    this.abort = new AbortController()
    const { signal: aborted } = this.abort
    try {
      const body = { ...this.subject, text: this.text.peek() }
      const answer = await post<{ problems: Problem[] | null; more?: number }>('check', body, aborted)
      this.problems.value = answer.problems ?? []
      this.more.value = answer.more ?? 0
    } catch (error) {
      if (aborted.aborted) return
      if (error instanceof ApiError && error.problems.length) this.problems.value = error.problems
    }
  }

  /** stop ends checking until the text changes again: what it is checked against goes away. */
  stop(): void {
    clearTimeout(this.timer)
    this.abort?.abort()
  }

  /** oneLine returns the text to send: without the spaces that were only for reading. */
  oneLine(): string {
    const value = this.value.peek()
    return this.broken.peek() || value === undefined ? this.text.peek() : json.compact(value)
  }
}
