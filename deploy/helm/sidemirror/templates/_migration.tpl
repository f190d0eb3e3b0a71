{{/* The Job that makes or updates the schema before a version is rolled out; nothing without `ownerSecret`. */}}
{{- define "sidemirror.migration" -}}
{{- $v := fromYaml (include "sidemirror.values" .) -}}
{{- if $v.ownerSecret -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-sidemirror-migrate
  labels: {app.kubernetes.io/name: sidemirror, app.kubernetes.io/component: migrate}
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-delete-policy: before-hook-creation
spec:
  backoffLimit: 3
  activeDeadlineSeconds: 600
  template:
    metadata:
      labels: {app.kubernetes.io/name: sidemirror, app.kubernetes.io/component: migrate}
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      {{- with $v.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: migrate
          image: "{{ $v.image.repository }}:{{ $v.image.tag }}"
          imagePullPolicy: {{ $v.image.pullPolicy }}
          {{- if $v.databaseTenants }}
          args:
            - migrate
            {{- range $v.databaseTenants }}
            - --grant-to
            - {{ required "databaseTenants: each has a role" .role | quote }}
            - --tenant
            - {{ required "databaseTenants: each has a tenant" .tenant | quote }}
            {{- end }}
          {{- else }}
          args: [migrate, --grant-to, {{ $v.databaseRole | quote }}]
          {{- end }}
          env:
            - name: SIDEMIRROR_DATABASE_URL
              valueFrom: {secretKeyRef: {name: {{ $v.ownerSecret }}, key: url}}
          resources:
            {{- toYaml $v.resources | nindent 12 }}
          securityContext:
            {{- include "sidemirror.securityContext" . | nindent 12 }}
{{- end -}}
{{- end -}}
