// Running saved calls. The program verifies the answers.
import { signal } from '@preact/signals'
import { failureOf, post } from './api'
import { type Saved, saved, sourceOf } from './saved'
import { call, say } from './store'

/** Verdict is how a saved call went. */
export interface Verdict {
  state: 'running' | 'pass' | 'fail'
  call?: number
  took?: number
  /** What was not as expected. */
  faults: Fault[]
}

/** Fault is an expectation that was not met. */
export interface Fault {
  /** Where in the saved call it is: /expect/0, or empty. */
  pointer: string
  message: string
}

export const verdicts = signal<ReadonlyMap<string, Verdict>>(new Map())

const judge = (name: string, verdict: Verdict): void => {
  verdicts.value = new Map(verdicts.value).set(name, verdict)
}

/** run sends a saved call and has its answer verified. */
export async function run(s: Saved): Promise<Verdict> {
  const source = sourceOf(s)
  let verdict: Verdict = { state: 'running', faults: [] }
  judge(s.name, verdict)
  try {
    if (source === undefined) throw new Error(s.source ? `no source is named ${s.source}` : 'the call names no source')
    const { id, ended } = await call({ source, method: s.method, params: s.params, sendAnyway: true })
    judge(s.name, { ...verdict, call: id })
    const done = await ended
    const { problems: faults } = await post<{ problems: Fault[] }>('verify', `{"call":${id},"saved":${s.text}}`)
    verdict = { state: faults.length ? 'fail' : 'pass', call: id, faults }
    if (done.took !== undefined) verdict.took = done.took
  } catch (error) {
    verdict = { state: 'fail', faults: [{ pointer: '', message: failureOf(error).text }] }
  }
  judge(s.name, verdict)
  return verdict
}

/** runningAll reports whether all saved calls are being sent. */
export const runningAll = signal(false)

/** runAll sends all saved calls, one after the other. */
export async function runAll(): Promise<void> {
  if (runningAll.value) return
  runningAll.value = true
  let failed = 0
  const list = saved.value
  try {
    for (const s of list) if ((await run(s)).state === 'fail') failed++
  } finally {
    runningAll.value = false
  }
  say(`${list.length - failed} passed, ${failed} failed`)
}
