// The JSON of the API, as package inspect writes it.

export interface Failure {
  text: string
  hint?: string
  code?: string
  rpc?: number
  data?: unknown
  status?: number
  challenge?: string
  login?: { issuer?: string; error?: string; scopes?: string[]; registers?: boolean }
  body?: string
  step?: string
  command?: string
}

export interface Boot {
  base: string
  by?: string
  auth: 'token' | 'none'
  sources: { id: number; name: string; label: string }[]
}

export interface Step {
  seq: number
  name: string
  ns: number
  took: number
  detail?: string
  error?: string
}

export interface Finding {
  rule: string
  severity: string
  kind: string
  name?: string
  message: string
  hint?: string
  pointer?: string
}

export type Phase =
  | 'connecting'
  | 'ready'
  | 'unresponsive'
  | 'waiting'
  | 'stopped'
  | 'failed'
  | 'closed'
  | 'recording'

export interface State {
  id: number
  name: string
  label: string
  argument?: string
  kind: string
  phase: Phase
  since: string
  waits?: string
  version?: string
  modern?: boolean
  server?: { name?: string; title?: string; version?: string; websiteUrl?: string }
  capabilities?: Record<string, unknown>
  wanted?: { version: string; capabilities: unknown }
  client?: Record<string, unknown>
  instructions?: string
  pid?: number
  starts?: number
  failures?: number
  next?: string
  inFlight: number
  junk?: number
  error?: Failure
  steps: Step[]
  counts?: Record<'tools' | 'resources' | 'templates' | 'prompts' | 'apps', number>
  catalog?: string
  findings?: Finding[]
  level?: string
  subscriptions: string[]
  roots: { uri: string; name?: string }[]
  tokens?: number
  bytes?: number
}

export interface Frame {
  seq: number
  src: number
  ns: number
  d?: 'in' | 'out'
  kind: 'request' | 'response' | 'notification' | 'batch' | 'head' | 'body' | 'junk' | 'stderr' | 'step'
  ch?: string
  stream?: number
  id?: unknown
  method?: string
  name?: string
  bytes?: number
  pair?: number
  took?: number
  cause?: string
  call?: number
  err?: { rpc?: number; text: string }
  isError?: boolean
  text?: string
  verb?: string
  url?: string
  status?: number
  headers?: Record<string, string[]>
  wait?: number
  /** The connection had been used before; the address of the server. */
  reused?: boolean
  remote?: string
  step?: string
  detail?: string
  error?: string
}

export interface Call {
  id: number
  src: number
  method: string
  name?: string
  state: 'running' | 'done' | 'failed' | 'cancelled' | 'timeout'
  started: number
  request?: number
  answer?: number
  took?: number
  bytes?: number
  tokens?: number
  isError?: boolean
  error?: Failure
  logs?: number
  progress?: ProgressParams
}

export interface ProgressParams {
  progress?: number
  total?: number
  message?: string
}

export interface Form {
  kind: string
  key?: string
  pointer: string
  label?: string
  help?: string
  required?: boolean
  default?: unknown
  examples?: unknown[]
  const?: unknown
  options?: { value: unknown; label: string }[]
  min?: string
  max?: string
  step?: string
  exclusiveMin?: boolean
  exclusiveMax?: boolean
  minLength?: string
  maxLength?: string
  minItems?: string
  maxItems?: string
  unique?: boolean
  pattern?: string
  format?: string
  mediaType?: string
  children?: Form[]
  items?: Form
  open?: boolean
  keyPattern?: string
  branches?: Form[]
  nullable?: boolean
  ref?: string
  header?: string
  readOnly?: boolean
  more?: string
}

export interface Icon {
  src: string
}

interface Entry {
  title?: string
  description?: string
  definition: Record<string, unknown>
  bytes: number
  tokens: number
  findings?: Finding[]
}

export interface Tool extends Entry {
  name: string
  form?: Form
  formError?: Failure & { pointer?: string }
  output?: Form
  ui?: { resourceUri?: string; visibility?: string[] }
  readOnly?: boolean
  destructive?: boolean
  idempotent?: boolean
  openWorld?: boolean
  visibility?: string[]
}

export interface Resource extends Entry {
  uri: string
  name: string
  mimeType?: string
  size?: number
  ui?: boolean
}

export interface Template extends Entry {
  template: string
  name: string
  mimeType?: string
  variables: string[]
}

export interface Prompt extends Entry {
  name: string
  arguments?: { name: string; title?: string; description?: string; required?: boolean }[]
}

export interface Catalog {
  src: number
  etag: string
  tools: Tool[]
  resources: Resource[]
  templates: Template[]
  prompts: Prompt[]
  completions?: boolean
}

export interface ListDiff {
  added?: string[]
  removed?: string[]
  changed?: string[]
}

export interface CatalogDiff {
  src: number
  etag: string
  tools?: ListDiff
  resources?: ListDiff
  templates?: ListDiff
  prompts?: ListDiff
}

export interface Ask {
  id: number
  src: number
  call?: number
  method: string
  params: Record<string, unknown>
  form?: Form
  mode?: 'form' | 'url'
  since: number
}

export interface Problem {
  pointer: string
  at?: [number, number]
  text: string
}

export interface LogLine {
  call?: number
  src: number
  seq?: number
  params: { level?: string; logger?: string; data?: unknown; truncated?: boolean }
}

export interface SavedCall {
  name: string
  source?: string
  method: string
  params?: unknown
  star?: boolean
  expect?: { pointer: string; equals: unknown }[]
}

export interface Violation {
  app: string
  directive: string
  blocked: string
  file?: string
  line?: number
  column?: number
  sample?: string
  reason?: string
}
