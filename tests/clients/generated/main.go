// One contract call by the client that oapi-codegen makes of openapi.json: main URL FUNC AUTH. Prints the status.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
)

func main() {
	client, err := NewClientWithResponses(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	wait, key := 60, "go-"+os.Args[3][:40]
	answer, err := client.SubmitWithResponse(context.Background(), &SubmitParams{Wait: &wait, IdempotencyKey: &key},
		SubmissionRequest{Func: &os.Args[2], Auth: &[]string{os.Args[3]}})
	if err != nil || answer.JSON200 == nil {
		log.Fatal(err, string(answer.Body))
	}
	fmt.Println(answer.JSON200.Status)
}
