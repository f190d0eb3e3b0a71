{{/* The values of this library, with what the chart that uses it says instead. */}}
{{- define "sidemirror.values" -}}
{{- $defaults := dict
  "image" (dict "repository" "sidemirror" "tag" "0.1.0" "pullPolicy" "IfNotPresent")
  "imagePullSecrets" (list)
  "tenantId" "default" "projectId" "default" "serves" ""
  "databaseSecret" "" "ownerSecret" "" "databaseRole" "sidecar" "databaseTenants" (list) "redisSecret" "" "accessSecret" "" "env" (list)
  "resources" (dict "requests" (dict "cpu" "50m" "memory" "160Mi") "limits" (dict "memory" "384Mi"))
  "podLabels" (dict) "maxUnavailable" ""
  "networkPolicy" (dict "enabled" false "agentPorts" (list) "metricsNamespace" "monitoring" "egress" (list))
  "graceSeconds" 10 -}}
{{- toYaml (mergeOverwrite $defaults (deepCopy (default (dict) .Values.sidemirror))) -}}
{{- end -}}

{{/* Labels of the pod. */}}
{{- define "sidemirror.labels" -}}
sidemirror.dev/sidecar: "true"
{{- end -}}

{{/* What the sidecar and the migration may do: nothing but their work. */}}
{{- define "sidemirror.securityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
readOnlyRootFilesystem: true
allowPrivilegeEscalation: false
privileged: false
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{/* securityContext of the pod: the socket and the data folder belong to this group. */}}
{{- define "sidemirror.podSecurityContext" -}}
fsGroup: 65532
{{- end -}}

{{/* An entry of initContainers: a native sidecar (Kubernetes 1.29 and later). */}}
{{- define "sidemirror.container" -}}
{{- $v := fromYaml (include "sidemirror.values" .) -}}
- name: sidemirror
  image: "{{ $v.image.repository }}:{{ $v.image.tag }}"
  imagePullPolicy: {{ $v.image.pullPolicy }}
  restartPolicy: Always
  args: [serve]
  env:
    - {name: SIDEMIRROR_ADDRESS, value: "127.0.0.1:50051"}
    - {name: SIDEMIRROR_SOCKET, value: /run/sidemirror/sidemirror.sock}
    - {name: SIDEMIRROR_HEALTH_ADDRESS, value: "0.0.0.0:50052"}
    - {name: SIDEMIRROR_METRICS_ADDRESS, value: "0.0.0.0:9464"}
    - {name: SIDEMIRROR_DATA_DIR, value: /data/store}
    - {name: SIDEMIRROR_GRACE_S, value: {{ $v.graceSeconds | quote }}}
    - {name: SIDEMIRROR_TENANT_ID, value: {{ $v.tenantId | quote }}}
    - {name: SIDEMIRROR_PROJECT_ID, value: {{ $v.projectId | quote }}}
    {{- $own := ternary "" (printf "%s/*" $v.tenantId) (eq $v.tenantId "default") }}
    {{- $given := list }}
    {{- range $v.env }}{{ $given = append $given .name }}{{ end }}
    {{- with ternary "" (default $own $v.serves) (has "SIDEMIRROR_SERVES" $given) }}
    - {name: SIDEMIRROR_SERVES, value: {{ . | quote }}}
    {{- end }}
    {{- if $v.databaseSecret }}
    - name: SIDEMIRROR_DATABASE_URL
      valueFrom: {secretKeyRef: {name: {{ $v.databaseSecret }}, key: url}}
    {{- end }}
    {{- if $v.redisSecret }}
    - name: SIDEMIRROR_REDIS_URL
      valueFrom: {secretKeyRef: {name: {{ $v.redisSecret }}, key: url}}
    {{- end }}
    {{- if $v.accessSecret }}
    - {name: SIDEMIRROR_ACCESS_FILE, value: /etc/sidemirror/access.json}
    {{- end }}
    {{- with $v.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - {name: sm-health, containerPort: 50052}
    - {name: sm-metrics, containerPort: 9464}
  startupProbe:
    grpc: {port: 50052}
    periodSeconds: 1
    failureThreshold: 60
  readinessProbe:
    grpc: {port: 50052}
    periodSeconds: 5
    timeoutSeconds: 2
  livenessProbe:
    grpc: {port: 50052}
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 3
  resources:
    {{- toYaml $v.resources | nindent 4 }}
  securityContext:
    {{- include "sidemirror.securityContext" . | nindent 4 }}
  volumeMounts:
    - {name: sidemirror-socket, mountPath: /run/sidemirror}
    - {name: sidemirror-data, mountPath: /data}
    {{- if $v.accessSecret }}
    - {name: sidemirror-access, mountPath: /etc/sidemirror, readOnly: true}
    {{- end }}
{{- end -}}

{{/* Entries of volumes. */}}
{{- define "sidemirror.volumes" -}}
{{- $v := fromYaml (include "sidemirror.values" .) -}}
- name: sidemirror-socket
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
- name: sidemirror-data
  emptyDir: {sizeLimit: 2Gi}
{{- if $v.accessSecret }}
- name: sidemirror-access
  secret: {secretName: {{ $v.accessSecret }}, defaultMode: 0440}
{{- end }}
{{- end -}}

{{/* An entry of the agent container's volumeMounts, and one of its env. */}}
{{- define "sidemirror.agentMount" -}}
- {name: sidemirror-socket, mountPath: /run/sidemirror}
{{- end -}}
{{- define "sidemirror.agentEnv" -}}
- {name: SIDEMIRROR_ADDRESS, value: "unix:/run/sidemirror/sidemirror.sock"}
{{- end -}}
