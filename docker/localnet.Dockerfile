# The local Stellar network (tests/localnet) and the development tools, for compose.yaml. It is no part of the fairway image. The build
# downloads the base image and the packages that tests/package-lock.json names.
#
#   docker build -f docker/localnet.Dockerfile -t fairway-localnet .

# Node.js 22.12 or newer. BASE=node@sha256:... names it by its digest.
ARG BASE=node:22-bookworm-slim

FROM ${BASE}
WORKDIR /fairway/tests
COPY tests/package.json tests/package-lock.json ./
# Optional packages: Node.js itself, which the base image has.
RUN npm ci --ignore-scripts --omit=optional --omit=dev --no-audit --no-fund
# All of it, because a list of what the programs load was wrong twice.
COPY tests .
# A new volume takes its owner from this folder.
RUN install -d -o 10001 -g 10001 /data
USER 10001:10001
EXPOSE 8000
CMD ["node", "localnet/main.mjs", "--listen", "0.0.0.0", "--data", "/data", "--ledger-ms", "2000"]
