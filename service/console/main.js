// @ts-check
document.body.append("Portcullis");
