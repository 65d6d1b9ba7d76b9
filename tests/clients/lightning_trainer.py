"""Lightning's Trainer, which starts its ranks itself: python lightning_trainer.py --devices 2"""
import argparse

import lightning
import torch

from own_facts import StepClock, print_facts

parser = argparse.ArgumentParser()
parser.add_argument("--devices", type=int, default=2)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--steps", type=int, default=50)
args = parser.parse_args()


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(200, 900), torch.nn.ReLU(), torch.nn.Linear(900, 900),
                                       torch.nn.ReLU(), torch.nn.Linear(900, 10))

    def training_step(self, batch, _):
        inputs, labels = batch
        return torch.nn.functional.cross_entropy(self.net(inputs), labels)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.001)


class Clock(lightning.Callback):
    def __init__(self):
        self.clock = StepClock()

    def on_train_batch_end(self, *_):
        self.clock.step_ended()


if __name__ == "__main__":
    lightning.seed_everything(0, verbose=False)
    data = torch.utils.data.TensorDataset(torch.randn(8192, 200), torch.randint(10, (8192,)))
    loader = torch.utils.data.DataLoader(data, batch_size=args.batch_size, shuffle=True, drop_last=True)
    clock = Clock()
    trainer = lightning.Trainer(accelerator="cpu", devices=args.devices, strategy="ddp", max_steps=args.steps, max_epochs=-1,
                                logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False, callbacks=[clock])
    model = Classifier()
    trainer.fit(model, loader)
    if trainer.is_global_zero:
        print_facts(clock.clock, list(model.parameters()), trainer.world_size, args.batch_size)
