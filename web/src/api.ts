// Requests to the API. The token of this run comes from the fragment of the first address.
import type { Boot, Failure, Problem } from './types'

const host = document.getElementById('app') as HTMLElement

/** boot is what the HTML says before the first request. */
export const boot: Boot = JSON.parse(host.dataset.boot || '{"base":"/","auth":"token","sources":[]}')

const tokenKey = 'slipway-inspect-token'
let token = takeToken()

// takeToken moves the token out of the address, where it would be copied along with links.
function takeToken(): string {
  const found = /^#([\w-]{20,})$/.exec(location.hash)
  if (!found) return sessionStorage.getItem(tokenKey) ?? ''
  sessionStorage.setItem(tokenKey, found[1]!)
  history.replaceState(history.state, '', location.pathname + location.search)
  return found[1]!
}

/** useToken takes a token that was pasted, as such or as the whole address. */
export function useToken(text: string): boolean {
  const found = /([\w-]{20,})\s*$/.exec(text)
  if (!found) return false
  token = found[1]!
  sessionStorage.setItem(tokenKey, token)
  return true
}

export const hasToken = (): boolean => boot.auth === 'none' || token !== ''

/** ApiError is an error response of the API. */
export class ApiError extends Error {
  constructor(
    readonly failure: Failure,
    readonly http: number,
    readonly problems: Problem[] = [],
  ) {
    super(failure.text)
  }
}

/** failureOf returns any error in the form that the page shows. */
export function failureOf(error: unknown): Failure {
  if (error instanceof ApiError) return error.failure
  if (error instanceof TypeError) return { text: 'slipway inspect does not answer', hint: 'Is it still running?' }
  return { text: error instanceof Error ? error.message : String(error) }
}

export interface Init {
  method?: string
  body?: BodyInit
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** request sends a request and returns the response if its status is below 300 or 304. */
export async function request(path: string, init: Init = {}): Promise<Response> {
  const headers: Record<string, string> = { ...init.headers }
  if (boot.auth !== 'none') headers['Authorization'] = `Bearer ${token}`
  const response = await fetch(`${boot.base}api/${path}`, { ...init, headers, cache: 'no-store' })
  if (response.ok || response.status === 304) return response
  const body = (await response.json().catch(() => ({}))) as { error?: Failure; problems?: Problem[] }
  throw new ApiError(body.error ?? { text: `status ${response.status}` }, response.status, body.problems)
}

/** get returns the JSON at a path. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await request(path, signal ? { signal } : {})
  return (await response.json()) as T
}

/** post sends JSON. A string is sent as it is: numbers in it keep every digit. */
export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await request(path, { method: 'POST', body: text, ...(signal ? { signal } : {}) })
  return (await response.json()) as T
}

/** Body is the text of a frame, perhaps only its start. */
export interface Body {
  text: string
  /** Bytes of the whole message. */
  total: number
  whole: boolean
}

/** firstPart is how much of a long message is loaded without being asked for. */
export const firstPart = 256 << 10

/** loadBody returns the bytes of a frame as text: all of them, or the start. */
export async function loadBody(seq: number, all: boolean, signal?: AbortSignal): Promise<Body> {
  const headers = all ? undefined : { Range: `bytes=0-${firstPart - 1}` }
  const response = await request(`frames/${seq}`, { ...(headers ? { headers } : {}), ...(signal ? { signal } : {}) })
  const bytes = await response.arrayBuffer()
  const range = /\/(\d+)$/.exec(response.headers.get('Content-Range') ?? '')
  const total = range ? Number(range[1]) : bytes.byteLength
  return { text: new TextDecoder().decode(bytes), total, whole: total <= bytes.byteLength }
}

/** saveAs gives data to the browser as a download. */
export function saveAs(name: string, data: Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(data)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

/** download saves the response of an API path under a name. */
export async function download(path: string, name: string): Promise<void> {
  const response = await request(path)
  saveAs(name, await response.blob())
}
