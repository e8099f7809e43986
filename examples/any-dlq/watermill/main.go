// Command payments books payments with watermill. OPEN was renamed to PENDING here, but not in the producer: each of
// its payments fails, and watermill's poison queue moves it to TOPIC-poison. Readable payments are booked in
// TOPIC-booked.
//
// Arguments: brokers, how many payments to send first, and the topic (payments). It runs until it is ended.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
)

type payment struct {
	ID     string `json:"id"`
	Cents  int    `json:"cents"`
	Status string `json:"status"`
}

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: payments BROKERS COUNT [TOPIC]")
	}
	count, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	topic := "payments"
	if len(os.Args) > 3 {
		topic = os.Args[3]
	}
	if err := run(context.Background(), strings.Split(os.Args[1], ","), count, topic); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, brokers []string, count int, topic string) error {
	if err := create(brokers, topic, topic+"-poison", topic+"-booked"); err != nil {
		return err
	}
	logger := watermill.NopLogger{}
	publisher, err := kafka.NewPublisher(kafka.PublisherConfig{Brokers: brokers, Marshaler: kafka.DefaultMarshaler{}}, logger)
	if err != nil {
		return err
	}
	for i := range count {
		text := fmt.Sprintf(`{"id":"p-%d","cents":%d,"status":"OPEN"}`, i, 100+i)
		if err := publisher.Publish(topic, message.NewMessage(watermill.NewUUID(), []byte(text))); err != nil {
			return err
		}
	}
	settings := kafka.DefaultSaramaSubscriberConfig()
	settings.Consumer.Offsets.Initial = sarama.OffsetOldest
	// A replayer that is killed leaves aborted records behind. Only ReadCommitted skips them.
	settings.Consumer.IsolationLevel = sarama.ReadCommitted
	subscriber, err := kafka.NewSubscriber(kafka.SubscriberConfig{
		Brokers: brokers, Unmarshaler: kafka.DefaultMarshaler{}, ConsumerGroup: topic, OverwriteSaramaConfig: settings,
	}, logger)
	if err != nil {
		return err
	}
	router, err := message.NewRouter(message.RouterConfig{}, logger)
	if err != nil {
		return err
	}
	poison, err := middleware.PoisonQueue(publisher, topic+"-poison")
	if err != nil {
		return err
	}
	var booked, dead atomic.Int64
	router.AddMiddleware(poison)
	router.AddHandler("book", topic, subscriber, topic+"-booked", publisher, func(m *message.Message) ([]*message.Message, error) {
		out, err := book(m.Payload)
		if err != nil {
			dead.Add(1)
			return nil, err
		}
		booked.Add(1)
		return message.Messages{message.NewMessage(watermill.NewUUID(), out)}, nil
	})
	go func() {
		for last := ""; ; time.Sleep(time.Second) {
			if now := fmt.Sprintf("booked %d, dead %d", booked.Load(), dead.Load()); now != last {
				fmt.Println(now)
				last = now
			}
		}
	}()
	return router.Run(ctx)
}

func book(value []byte) ([]byte, error) {
	var p payment
	if err := json.Unmarshal(value, &p); err != nil {
		return nil, err
	}
	if p.Status != "PENDING" && p.Status != "SETTLED" {
		return nil, fmt.Errorf("no status: %s", p.Status)
	}
	return fmt.Appendf(nil, "%s %s %d", p.ID, p.Status, p.Cents), nil
}

func create(brokers []string, topics ...string) error {
	admin, err := sarama.NewClusterAdmin(brokers, sarama.NewConfig())
	if err != nil {
		return err
	}
	defer admin.Close()
	for _, topic := range topics {
		err := admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 3, ReplicationFactor: 1}, false)
		if err != nil && !errors.Is(err, sarama.ErrTopicAlreadyExists) {
			return err
		}
	}
	return nil
}
