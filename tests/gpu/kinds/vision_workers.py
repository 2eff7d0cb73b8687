"""A vision transformer of torchvision, trained on batches that worker processes make."""
import torch
import torch.nn.functional as F
import torchvision

from loop import count, steps


class Pictures(torch.utils.data.Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        return torch.full((3, 224, 224), (index % 256) / 256), index % 100


if __name__ == "__main__":
    torch.manual_seed(1)
    model = torchvision.models.VisionTransformer(image_size=224, patch_size=16, num_layers=8, num_heads=8, hidden_dim=512, mlp_dim=2048,
                                                 num_classes=100).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    batches = iter(torch.utils.data.DataLoader(Pictures(), batch_size=64, num_workers=4, pin_memory=True))
    for step in steps(count(200), torch.cuda.synchronize):
        pictures, labels = (each.cuda(non_blocking=True) for each in next(batches))
        with torch.autocast("cuda", torch.bfloat16):
            loss = F.cross_entropy(model(pictures), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
