"""Lightning's Trainer with ddpprof's callback; it starts its two ranks itself: python trainer_lightning.py"""
import lightning
import torch

import ddpprof


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(200, 300), torch.nn.ReLU(), torch.nn.Linear(300, 10))

    def training_step(self, batch, _):
        return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


if __name__ == "__main__":
    data = torch.utils.data.TensorDataset(torch.randn(2048, 200), torch.randint(10, (2048,)))
    lightning.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_steps=40, max_epochs=-1, logger=False,
                      enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                      callbacks=[ddpprof.callbacks.Lightning(out="job.db", steps=range(10, 26))]).fit(
        Classifier(), torch.utils.data.DataLoader(data, batch_size=8))
