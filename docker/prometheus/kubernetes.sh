#!/bin/sh
# Prints what the Prometheus Operator needs beside docker/kubernetes.yaml: a ServiceMonitor with its Service, and rules.yml as a PrometheusRule.
#
#   sh docker/prometheus/kubernetes.sh | kubectl -n fairway apply -f -
#
# If your Prometheus selects monitors and rules by a label, give it: LABELS='release: prometheus'.
set -eu
cd "$(dirname "$0")"
labels="{app.kubernetes.io/name: fairway${LABELS:+, $LABELS}}"
cat <<END
apiVersion: v1
kind: Service
metadata: {name: fairway-metrics, labels: $labels}
spec:
  clusterIP: None
  # A replica that is not ready is to be looked at, too.
  publishNotReadyAddresses: true
  selector: {app.kubernetes.io/name: fairway, app.kubernetes.io/component: serve}
  ports: [{name: admin, port: 9001, targetPort: admin}]
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: fairway, labels: $labels}
spec:
  selector: {matchLabels: {app.kubernetes.io/name: fairway}}
  jobLabel: app.kubernetes.io/name
  endpoints: [{port: admin}]
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: fairway, labels: $labels}
spec:
END
sed 's/^/  /' rules.yml
