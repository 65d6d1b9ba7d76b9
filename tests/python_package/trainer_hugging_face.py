"""transformers.Trainer with ddpprof's callback: torchrun --nproc-per-node 2 trainer_hugging_face.py"""
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

import ddpprof


class Sentences(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        return {"input_ids": torch.full((24,), index % 500), "labels": index % 2}


model = BertForSequenceClassification(BertConfig(vocab_size=500, hidden_size=48, num_hidden_layers=1,
                                                 num_attention_heads=2, intermediate_size=96, max_position_embeddings=64))
Trainer(model, TrainingArguments(output_dir="trainer_output", use_cpu=True, ddp_backend="gloo", per_device_train_batch_size=8,
                                 max_steps=40, save_strategy="no", report_to=[], disable_tqdm=True),
        train_dataset=Sentences(),
        callbacks=[ddpprof.callbacks.HuggingFace(out="job.db", steps=range(10, 26))]).train()
