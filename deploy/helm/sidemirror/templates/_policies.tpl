{{/* Keeps drains of nodes from taking all of an agent's pods at once; nothing without `maxUnavailable`. */}}
{{- define "sidemirror.podDisruptionBudget" -}}
{{- $v := fromYaml (include "sidemirror.values" .) -}}
{{- if $v.maxUnavailable -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .Release.Name }}
spec:
  maxUnavailable: {{ $v.maxUnavailable }}
  selector:
    matchLabels:
      {{- toYaml (required "sidemirror.podLabels: the labels of your pods" $v.podLabels) | nindent 6 }}
{{- end -}}
{{- end -}}

{{/* What may reach the pods and what they may reach; nothing unless `networkPolicy.enabled`. A policy is the whole pod's,
the agent's traffic included. */}}
{{- define "sidemirror.networkPolicy" -}}
{{- $v := fromYaml (include "sidemirror.values" .) -}}
{{- if $v.networkPolicy.enabled -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ .Release.Name }}
spec:
  podSelector:
    matchLabels:
      {{- toYaml (required "sidemirror.podLabels: the labels of your pods" $v.podLabels) | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    {{- range $v.networkPolicy.agentPorts }}
    - ports: [{port: {{ . }}}]
    {{- end }}
    - from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: {{ $v.networkPolicy.metricsNamespace }}}}}]
      ports: [{port: 9464}]
  egress:
    - to: [{namespaceSelector: {}, podSelector: {matchLabels: {k8s-app: kube-dns}}}]
      ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
    {{- if $v.databaseSecret }}
    - to: [{podSelector: {matchLabels: {app.kubernetes.io/name: postgres}}}]
      ports: [{port: 5432}]
    {{- end }}
    {{- if $v.redisSecret }}
    - to: [{podSelector: {matchLabels: {app.kubernetes.io/name: redis}}}]
      ports: [{port: 6379}]
    {{- end }}
    - to: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 169.254.0.0/16]}}]
      ports: [{port: 443}]
    {{- with $v.networkPolicy.egress }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}
{{- end -}}
