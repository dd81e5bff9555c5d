// Questions of servers, answered by the user: elicitation in both modes, sampling, and any other request.
import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useErrorBoundary, useMemo } from 'preact/hooks'
import { failureOf, post } from '../api'
import { Draft } from '../draft'
import { clock } from '../format'
import * as json from '../json'
import { asks, source } from '../store'
import type { Ask, Failure } from '../types'
import { now } from './clock'
import { CodeArea, Editor } from './editor'
import { Badge, Problem, Tabs } from './kit'
import { canOpen, Link, Markdown } from './markdown'

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** useAnswer sends answers; the question leaves the page when Go says so. */
function useAnswer(ask: Ask) {
  const failure = useSignal<Failure | undefined>(undefined)
  const busy = useSignal(false)
  const send = async (body: string) => {
    busy.value = true
    failure.value = undefined
    try {
      await post('answer', `{"ask":${ask.id},${body}}`)
    } catch (error) {
      failure.value = failureOf(error)
    }
    busy.value = false
  }
  return { failure, busy, send }
}

type Answer = ReturnType<typeof useAnswer>

function Elicit({ ask, answer }: { ask: Ask; answer: Answer }) {
  const draft = useMemo(() => new Draft('{}', { ask: ask.id }), [ask.id])
  const view = useSignal<'form' | 'json'>('form')
  const attempted = useSignal(false)
  const refused = attempted.value && draft.problems.value.length > 0
  const send = (body: string) => {
    draft.stop() // an answered question cannot be checked against
    void answer.send(body)
  }
  const accept = async (anyway: boolean) => {
    await draft.checkNow() // what was typed a moment ago is not checked yet
    attempted.value = true
    if (draft.broken.value || (!anyway && draft.problems.value.length)) return
    send(`"action":"accept","content":${draft.oneLine()}`)
  }
  return (
    <>
      <p class="ask-text">{text(ask.params['message'])}</p>
      <div class="ask-form">
        <Editor draft={draft} form={ask.form} view={view.value} label="Answer" attempted={attempted} />
      </div>
      <div class="buttons">
        <button type="button" class="primary" disabled={answer.busy.value} onClick={() => void accept(false)}>
          Accept
        </button>
        {refused && (
          <button type="button" class="warn-button" onClick={() => void accept(true)}>
            Send anyway
          </button>
        )}
        <button type="button" onClick={() => send('"action":"decline"')}>
          Decline
        </button>
        <button type="button" onClick={() => send('"action":"cancel"')}>
          Cancel
        </button>
        <span class="spacer" />
        {ask.form && (
          <button type="button" class="quiet small" onClick={() => (view.value = view.value === 'form' ? 'json' : 'form')}>
            {view.value === 'form' ? 'JSON' : 'Form'}
          </button>
        )}
      </div>
    </>
  )
}

function ElicitURL({ ask, answer }: { ask: Ask; answer: Answer }) {
  const url = text(ask.params['url'])
  return (
    <>
      <p class="ask-text">{text(ask.params['message'])}</p>
      <p class="address">
        <Link url={url} />
        {!canOpen(url) && <span class="warn-text"> This address cannot be opened from here.</span>}
      </p>
      <div class="buttons">
        <button type="button" class="primary" onClick={() => void answer.send('"action":"accept"')}>
          Accept
        </button>
        <button type="button" onClick={() => void answer.send('"action":"decline"')}>
          Decline
        </button>
        <button type="button" onClick={() => void answer.send('"action":"cancel"')}>
          Cancel
        </button>
        <span class="muted">Accepting tells the server that you agreed.</span>
      </div>
    </>
  )
}

interface SamplingMessage {
  role?: string
  content?: unknown
}

function Sampling({ ask, answer }: { ask: Ask; answer: Answer }) {
  const { params } = ask
  const reply = useSignal('')
  const model = useSignal('human')
  const stop = useSignal('endTurn')
  const whole = useComputed(() =>
    JSON.stringify({ role: 'assistant', content: { type: 'text', text: reply.value }, model: model.value, stopReason: stop.value }, null, 2),
  )
  const raw = useSignal<string | undefined>(undefined)
  const tab = useSignal('answer')
  const result = raw.value ?? whole.value
  const messages = Array.isArray(params['messages']) ? (params['messages'] as SamplingMessage[]) : []
  const { messages: _, systemPrompt, ...rest } = params
  return (
    <>
      <div class="ask-messages">
        {text(systemPrompt) && (
          <article class="message">
            <h3 class="role">system</h3>
            <Markdown text={text(systemPrompt)} />
          </article>
        )}
        {messages.slice(0, 100).map((m) => {
          const content = m.content as { type?: string; text?: string } | undefined
          return (
            <article class="message">
              <h3 class={`role ${text(m.role)}`}>{text(m.role)}</h3>
              {content?.type === 'text' ? <Markdown text={text(content.text)} /> : <pre class="snippet">{JSON.stringify(m.content, null, 2)?.slice(0, 4000)}</pre>}
            </article>
          )
        })}
        {Object.keys(rest).length > 0 && <pre class="snippet">{JSON.stringify(rest, null, 2).slice(0, 4000)}</pre>}
      </div>
      <Tabs
        label="Answer"
        panel={`ask-${ask.id}-panel`}
        tabs={[
          { id: 'answer', label: 'Answer' },
          { id: 'json', label: 'JSON' },
        ]}
        value={tab.value}
        onChange={(v) => {
          tab.value = v
          raw.value = v === 'json' ? whole.value : undefined
        }}
      />
      <div role="tabpanel" id={`ask-${ask.id}-panel`} aria-labelledby={`ask-${ask.id}-panel-${tab.value}`}>
        {tab.value === 'json' ? (
          <CodeArea text={result} onChange={(t) => (raw.value = t)} label="Result" rows={8} />
        ) : (
          <div class="ask-answer">
            <textarea rows={3} data-first aria-label="Answer as the model" placeholder="What the model says" value={reply.value} onInput={(e) => (reply.value = e.currentTarget.value)} />
            <label>
              Model <input type="text" class="small" value={model.value} onInput={(e) => (model.value = e.currentTarget.value)} />
            </label>
            <label>
              Stop reason{' '}
              <select class="small" value={stop.value} onChange={(e) => (stop.value = e.currentTarget.value)}>
                <option>endTurn</option>
                <option>maxTokens</option>
                <option>stopSequence</option>
                <option>toolUse</option>
              </select>
            </label>
          </div>
        )}
      </div>
      <div class="buttons">
        <Send result={result} answer={answer} />
      </div>
    </>
  )
}

const isJSON = (text: string): boolean => {
  try {
    json.parse(text)
    return true
  } catch {
    return false
  }
}

const Send = ({ result, answer }: { result: string; answer: Answer }) => (
  <>
    <button type="button" class="primary" disabled={!isJSON(result) || answer.busy.value} onClick={() => void answer.send(`"result":${result}`)}>
      Send
    </button>
    <button type="button" onClick={() => void answer.send('"refuse":{"code":-1,"message":"The user rejected the request"}')}>
      Refuse
    </button>
  </>
)

// Other answers with any JSON.
function Other({ ask, answer }: { ask: Ask; answer: Answer }) {
  const result = useSignal('{}')
  return (
    <>
      <pre class="snippet">{JSON.stringify(ask.params, null, 2)?.slice(0, 8000)}</pre>
      <CodeArea text={result.value} onChange={(t) => (result.value = t)} label="Result" rows={4} />
      <div class="buttons">
        <Send result={result.value} answer={answer} />
      </div>
    </>
  )
}

const titles: Record<string, string> = {
  'elicitation/create': 'asks for input',
  'sampling/createMessage': 'asks the model',
  'roots/list': 'asks for roots',
}

function Question({ ask }: { ask: Ask }) {
  const answer = useAnswer(ask)
  const [broken] = useErrorBoundary() // a question of another form than the specification has is shown as JSON
  const isElicitation = ask.method === 'elicitation/create'
  return (
    <article class="ask" aria-label={`Question ${ask.id}`}>
      <header>
        <h2>
          {source(ask.src)?.name} {titles[ask.method] ?? 'asks'}
        </h2>
        <Badge>{ask.method}</Badge>
        {ask.mode && <Badge>{ask.mode}</Badge>}
        <span class="muted clock">waiting {clock(now.value - ask.since / 1e6)}</span>
      </header>
      {broken ? (
        <Other ask={ask} answer={answer} />
      ) : isElicitation && ask.mode === 'url' ? (
        <ElicitURL ask={ask} answer={answer} />
      ) : isElicitation ? (
        <Elicit ask={ask} answer={answer} />
      ) : ask.method === 'sampling/createMessage' ? (
        <Sampling ask={ask} answer={answer} />
      ) : (
        <Other ask={ask} answer={answer} />
      )}
      {answer.failure.value && <Problem of={answer.failure.value} />}
    </article>
  )
}

/** Asks shows the questions that wait for an answer, above the dock, in every room. */
export function Asks() {
  const list = asks.value
  const first = list[0]?.id
  // A new question gets the focus only if the user is not typing.
  useEffect(() => {
    if (first === undefined || document.activeElement?.matches('input,textarea,select')) return
    document.querySelector<HTMLElement>('.asks [data-first], .asks input, .asks textarea, .asks button')?.focus()
  }, [first])
  if (!list.length) return null
  return (
    <section class="asks" aria-label="Questions from servers" data-region="asks">
      {list.slice(0, 10).map((a) => (
        <Question key={a.id} ask={a} />
      ))}
    </section>
  )
}
