"""Hugging Face Trainer, a small BERT from a config: torchrun --nproc-per-node 2 hf_trainer.py"""
import argparse

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

from own_facts import StepClock, print_facts

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--accumulate", type=int, default=2)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()


class Sentences(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return {"input_ids": torch.randint(500, (24,), generator=generator), "labels": index % 2}


class Clock(TrainerCallback):
    def __init__(self):
        self.clock = StepClock()

    def on_step_end(self, *_, **__):
        self.clock.step_ended()


model = BertForSequenceClassification(BertConfig(
    vocab_size=500, hidden_size=96, num_hidden_layers=2, num_attention_heads=4, intermediate_size=192,
    max_position_embeddings=64))
callback = Clock()
trainer = Trainer(
    model, TrainingArguments(
        output_dir="trainer_output", use_cpu=True, ddp_backend="gloo", per_device_train_batch_size=args.batch_size,
        gradient_accumulation_steps=args.accumulate, max_steps=args.steps, logging_steps=20, save_strategy="no",
        report_to=[], disable_tqdm=True),
    train_dataset=Sentences(), callbacks=[callback])
trainer.train()
if trainer.is_world_process_zero():
    wrapped = trainer.model_wrapped
    print_facts(callback.clock, [p for p in model.parameters() if p.requires_grad], trainer.args.world_size,
                args.batch_size, args.accumulate, ddp=wrapped if hasattr(wrapped, "_get_ddp_logging_data") else None)
