{{/* Name of all objects, and the first part of each member's name. */}}
{{- define "tenure.name" -}}
{{- if contains "tenure" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-tenure" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "tenure.selector" -}}
app.kubernetes.io/name: tenure
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tenure.labels" -}}
{{ include "tenure.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* The part of a pod's host name after the pod. */}}
{{- define "tenure.domain" -}}
{{ include "tenure.name" . }}-peers.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "tenure.scheme" -}}
{{ if .Values.tls.secretName }}https{{ else }}http{{ end }}
{{- end }}

{{- define "tenure.initialCluster" -}}
{{- $name := include "tenure.name" . }}
{{- $domain := include "tenure.domain" . }}
{{- range $number := until (int .Values.replicas) }}
{{- if $number }},{{ end }}{{ $name }}-{{ $number }}=http://{{ $name }}-{{ $number }}.{{ $domain }}:2380
{{- end }}
{{- end }}

{{- define "tenure.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop:
    - ALL
{{- end }}
