{{- define "slipway.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- /* Names have room for the longest suffix, and are a label of DNS. */ -}}
{{- define "slipway.fullname" -}}
{{- $name := include "slipway.name" . -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $full .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "slipway.selectorLabels" -}}
app.kubernetes.io/name: {{ include "slipway.name" . | toYaml }}
app.kubernetes.io/instance: {{ .Release.Name | toYaml }}
{{- end -}}

{{- define "slipway.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "slipway.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "slipway.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "slipway.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "slipway.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "slipway.host" -}}
{{- regexReplaceAll ":[0-9]+$" (urlParse .Values.publicURL).host "" -}}
{{- end -}}

{{- /* The lowest number of pods. */ -}}
{{- define "slipway.replicas" -}}
{{- ternary .Values.autoscaling.minReplicas .Values.replicaCount .Values.autoscaling.enabled | int -}}
{{- end -}}

{{- /* slipway.yaml: the user's config, and what the other values decide. */ -}}
{{- define "slipway.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $address := dict "listen" ":8080" "admin" ":9090" -}}
{{- $access := dict -}}
{{- $definitions := dict -}}
{{- with .Values.cluster.urls -}}
{{- $_ := set $address "cluster" (join "," .) -}}
{{- end -}}
{{- if .Values.cluster.existingSecret -}}
{{- $_ := set $address "clusterPasswordFile" "/run/slipway/cluster/password" -}}
{{- end -}}
{{- if .Values.publicURL -}}
{{- $_ := set $address "publicURL" .Values.publicURL -}}
{{- end -}}
{{- if or .Values.publicURL .Values.auth.allowUnauthenticated -}}
{{- $name := include "slipway.fullname" . -}}
{{- $hosts := list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) -}}
{{- $hosts = append $hosts (printf "%s.%s.svc.cluster.local" $name .Release.Namespace) -}}
{{- $_ := set $address "allowedHosts" (concat $hosts (dig "serve" "address" "allowedHosts" (list) $config)) -}}
{{- end -}}
{{- if .Values.auth.existingSecret -}}
{{- $_ := set $access "tokenFile" "/run/slipway/auth/tokens" -}}
{{- end -}}
{{- if .Values.auth.allowUnauthenticated -}}
{{- $_ := set $access "allowRemoteWithoutAuth" true -}}
{{- end -}}
{{- if .Values.secrets.existingSecret -}}
{{- $_ := set $definitions "secretsFrom" (list "file:/run/slipway/secrets") -}}
{{- end -}}
{{- $limits := dict "drainDelay" (printf "%ds" (int .Values.drain.delaySeconds)) -}}
{{- $_ := set $limits "drainTimeout" (printf "%ds" (int .Values.drain.timeoutSeconds)) -}}
{{- $serve := dict "address" $address "limits" $limits -}}
{{- if $access }}{{ $_ := set $serve "access" $access }}{{ end -}}
{{- if $definitions }}{{ $_ := set $serve "definitions" $definitions }}{{ end -}}
{{- mergeOverwrite $config (dict "serve" $serve) | toYaml -}}
{{- end -}}
