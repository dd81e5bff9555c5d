{{- /* Contradictions between values, with the value to change. values.schema.json checks each of them alone. */ -}}
{{- define "slipway.validate" -}}
{{- $config := .Values.config -}}
{{- if not (or $config.servers $config.sources) -}}
{{- fail "config: nothing to serve: set config.servers or config.sources, see docs/config-file.md" -}}
{{- end -}}
{{- $owned := dict
  "address.listen" "remove it: the chart sets the port of the container"
  "address.admin" "remove it: the chart sets the port for operators"
  "address.replica" "remove it: the chart sets the address of the pod"
  "address.cluster" "set cluster.urls instead"
  "address.clusterPasswordFile" "set cluster.existingSecret instead"
  "address.publicURL" "set publicURL instead"
  "access.tokenFile" "set auth.existingSecret instead"
  "access.allowRemoteWithoutAuth" "set auth.allowUnauthenticated instead"
  "access.stateKeyFile" "set stateKeys.existingSecret instead"
  "definitions.secretsFrom" "set secrets.existingSecret instead"
  "limits.drainDelay" "set drain.delaySeconds instead"
  "limits.drainTimeout" "set drain.timeoutSeconds instead"
-}}
{{- $serve := dig "serve" dict $config -}}
{{- range $path, $instead := $owned -}}
{{- $at := splitList "." $path -}}
{{- if hasKey (dig (first $at) dict $serve) (last $at) -}}
{{- fail (printf "config.serve.%s: %s" $path $instead) -}}
{{- end -}}
{{- end -}}
{{- range $name := keys .Values.files -}}
{{- if eq $name "slipway.yaml" -}}
{{- fail "files.slipway.yaml: set config instead" -}}
{{- end -}}
{{- end -}}
{{- $access := dig "access" dict $serve -}}
{{- $certificates := dig "tls" "clientCA" "" $serve -}}
{{- if not (or .Values.auth.existingSecret .Values.auth.allowUnauthenticated $access.issuer $access.signIn $certificates) -}}
{{- fail "auth: no caller could connect: set auth.existingSecret, or config.serve.access.issuer or signIn, or config.serve.tls.clientCA; or auth.allowUnauthenticated" -}}
{{- end -}}
{{- if and $certificates .Values.cluster.urls -}}
{{- fail "config.serve.tls.clientCA: remove it, or cluster.urls: in a cluster, callers need tokens" -}}
{{- end -}}
{{- $most := ternary .Values.autoscaling.maxReplicas .Values.replicaCount .Values.autoscaling.enabled | int -}}
{{- if and $access.signIn (or .Values.cluster.urls (gt $most 1)) -}}
{{- fail "config.serve.access.signIn: it works with one pod only, because logins in progress are in its memory: set replicaCount: 1 without autoscaling and cluster.urls, or use config.serve.access.issuer" -}}
{{- end -}}
{{- if and $access.signIn (not .Values.publicURL) -}}
{{- fail "publicURL: config.serve.access.signIn needs it, such as https://mcp.example.com" -}}
{{- end -}}
{{- if and $access.issuer (not $access.audiences) (not .Values.publicURL) -}}
{{- fail "publicURL: config.serve.access.issuer needs it as the audience of tokens, or config.serve.access.audiences" -}}
{{- end -}}
{{- if and $access.approvals .Values.cluster.urls -}}
{{- fail "config.serve.access.approvals: remove it: the engine of the cluster keeps approvals" -}}
{{- end -}}
{{- if and (dig "endpoints" "legacySSE" false $serve) (gt $most 1) -}}
{{- fail "config.serve.endpoints.legacySSE: it works with one pod only: set replicaCount: 1 without autoscaling" -}}
{{- end -}}
{{- range .Values.cluster.urls -}}
{{- if contains ":" (urlParse .).userinfo -}}
{{- fail "cluster.urls: a URL has a password, which the config map would show: set cluster.existingSecret instead" -}}
{{- end -}}
{{- end -}}
{{- if and (gt $most 1) (not .Values.cluster.urls) (not .Values.stateKeys.existingSecret) -}}
{{- fail "cluster: several replicas need cluster.urls, or stateKeys.existingSecret if clients keep no sessions; or set replicaCount: 1 without autoscaling" -}}
{{- end -}}
{{- if and .Values.cluster.existingSecret (not .Values.cluster.urls) -}}
{{- fail "cluster.existingSecret: set cluster.urls, too" -}}
{{- end -}}
{{- if and (or .Values.httpRoute.enabled .Values.ingress.enabled) (not .Values.publicURL) -}}
{{- fail "publicURL: httpRoute and ingress need it, such as https://mcp.example.com" -}}
{{- end -}}
{{- if and .Values.ingress.enabled .Values.ingress.tlsSecret (not (hasPrefix "https:" .Values.publicURL)) -}}
{{- fail "ingress.tlsSecret: publicURL begins with http://, so that clients send tokens without TLS: set https://" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs: name a Gateway, such as {name: public, namespace: gateways}" -}}
{{- end -}}
{{- with .Values.autoscaling -}}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) -}}
{{- fail (printf "autoscaling.minReplicas: %d is more than maxReplicas, %d" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- if and .enabled (not .requestsInFlight) (not .cpu) -}}
{{- fail "autoscaling: set requestsInFlight, cpu or both" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled .Values.autoscaling.cpu (not (dig "requests" "cpu" "" .Values.resources)) -}}
{{- fail "autoscaling.cpu: it is a share of resources.requests.cpu, which is missing" -}}
{{- end -}}
{{- end -}}
