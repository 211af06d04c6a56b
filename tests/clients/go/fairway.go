// Calls of fairway, to copy: each request has a token of its own, and is repeated until it is answered.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/stellar/go-stellar-sdk/keypair"
)

// tokenOf makes a JSON web token for one request: the client's key signs method, path, body and Idempotency-Key.
func tokenOf(client *keypair.Full, method, path string, body []byte, key string) string {
	now := time.Now().Unix()
	claims := map[string]any{"sub": client.Address(), "iat": now, "exp": now + 15, "methodAndPath": method + " " + path,
		"bodyHash": fmt.Sprintf("%x", sha256.Sum256(body))}
	if key != "" {
		claims["idempotencyKey"] = key
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"EdDSA","typ":"JWT"}`)) + "." + encode(must(json.Marshal(claims)))
	return signed + "." + encode(must(client.Sign([]byte(signed))))
}

// call fills answer. It repeats what is safe to repeat, with the same key: a 429, a lost answer, and a 503, unless fairway has lost leases.
func call(client *keypair.Full, method, path string, value any, key string, answer any) {
	var body []byte
	if value != nil {
		body = must(json.Marshal(value))
	}
	for tries := 1; ; tries++ {
		request := must(http.NewRequest(method, os.Getenv("FAIRWAY_URL")+path, bytes.NewReader(body)))
		request.Header.Set("Authorization", "Bearer "+tokenOf(client, method, path, body, key))
		if key != "" {
			request.Header.Set("Idempotency-Key", key)
		}
		if body != nil {
			request.Header.Set("Content-Type", "application/json")
		}
		pause := 1
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			text, lost := io.ReadAll(response.Body)
			response.Body.Close()
			if err = lost; err == nil && response.StatusCode < 300 {
				check(json.Unmarshal(text, answer))
				return
			}
			if err == nil {
				err = fmt.Errorf("%s %s: %d %s", method, path, response.StatusCode, text)
				pause, _ = strconv.Atoi(response.Header.Get("Retry-After"))
				if response.StatusCode != 429 && response.StatusCode != 503 || bytes.Contains(text, []byte(`"forgottenSince"`)) {
					check(err)
				}
			}
		}
		if tries == 10 {
			check(err)
		}
		time.Sleep(time.Duration(pause) * time.Second)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}
